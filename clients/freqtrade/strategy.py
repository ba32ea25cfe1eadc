"""A strategy that enters at once and leaves some seconds later, by market orders. Its stop waits at the exchange if
STOP_AT_THE_EXCHANGE is set, and in freqtrade otherwise."""

import os
from datetime import timedelta

from freqtrade.strategy import IStrategy


class RoundTrip(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1m"
    process_only_new_candles = False
    startup_candle_count = 5
    minimal_roi = {}
    stoploss = -0.2
    order_types = {
        "entry": "market",
        "exit": "market",
        "emergency_exit": "market",
        "stoploss": "limit",
        "stoploss_on_exchange": "STOP_AT_THE_EXCHANGE" in os.environ,
        "stoploss_on_exchange_interval": 5,
        "stoploss_on_exchange_limit_ratio": 0.99,
    }

    def populate_indicators(self, dataframe, metadata):
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe["enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        return dataframe

    def custom_exit(self, pair, trade, current_time, **_):
        return "round trip" if current_time - trade.open_date_utc > timedelta(seconds=5) else None
