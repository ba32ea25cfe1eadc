//! pricetime
