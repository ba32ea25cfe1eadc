/* A clock that jumps: loaded before the C library, it adds JUMP_SECONDS to the time of day a second after the first look at it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *shown) {
    static int (*real)(clockid_t, struct timespec *);
    static time_t begun;
    struct timespec passed;
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &passed);
    if (!begun) begun = passed.tv_sec;
    int result = real(id, shown);
    const char *jump = getenv("JUMP_SECONDS");
    if (result == 0 && jump && passed.tv_sec > begun && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        shown->tv_sec += atol(jump);
    return result;
}
