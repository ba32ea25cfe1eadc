//! binance-rs-async, with nothing but the addresses changed, on a market in which somebody offers at 145.67, bids at
//! 140 and takes a little of both all the time. The server and the key come from the environment, as in
//! ../../market.py.

use std::env::var;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use binance::account::{Account, OrderCancellation, OrderRequest, OrderStatusRequest, OrdersQuery};
use binance::api::Binance;
use binance::config::Config;
use binance::errors::Error;
use binance::general::General;
use binance::market::Market;
use binance::rest_model::{KlineSummaries, OrderResponse, OrderSide, OrderStatus, OrderType, TimeInForce, Transaction};
use binance::userstream::UserStream;
use binance::websockets::{WebSockets, diff_book_depth_stream, kline_stream, ticker_stream, trade_stream};
use binance::ws_model::{CombinedStreamEvent, WebsocketEvent};

const SYMBOL: &str = "SPYUSD";
const PATIENCE: Duration = Duration::from_secs(30);

type Done = Result<(), Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let host = var("PRICETIME_HTTP").expect("PRICETIME_HTTP");
    let config = Config::default()
        .set_rest_api_endpoint(format!("http://{host}/binance"))
        .set_ws_endpoint(format!("ws://{host}/binance"));
    market(&config).await?;
    let account: Account = client(&config);
    resting(&account).await?;
    waiting(&account).await?;
    executing(&account).await?;
    past(&config, &account).await?;
    println!("binance-rs-async: REST is as it should be");
    follow(&config, &account).await?;
    println!("binance-rs-async: streams are as they should be");
    Ok(())
}

fn client<C: Binance>(config: &Config) -> C {
    C::new_with_config(var("API_KEY").ok(), var("API_SECRET").ok(), config)
}

async fn market(config: &Config) -> Done {
    let (general, market): (General, Market) = (client(config), client(config));
    general.ping().await?;
    assert!(general.get_server_time().await?.server_time > 0);
    let info = general.exchange_info().await?;
    let pair = info.symbols.iter().find(|pair| pair.symbol == SYMBOL).expect("the pair");
    assert!(pair.order_types.contains(&OrderType::LimitMaker) && pair.lot_size().is_some(), "{pair:?}");
    let dollars = client::<Account>(config).get_balance("USD").await?;
    assert_eq!((dollars.free, dollars.locked), (100_000.0, 0.0));
    let depth = market.get_depth(SYMBOL).await?;
    assert_eq!((depth.bids[0].price, depth.asks[0].price), (140.0, 145.67));
    let best = market.get_book_ticker(SYMBOL).await?;
    assert_eq!((best.bid_price, best.ask_price), (140.0, 145.67));
    Ok(())
}

fn order(side: OrderSide, order_type: OrderType) -> OrderRequest {
    let new_order_resp_type = Some(OrderResponse::Full);
    OrderRequest { symbol: SYMBOL.to_owned(), side, order_type, new_order_resp_type, ..OrderRequest::default() }
}

fn limit(side: OrderSide, force: TimeInForce, quantity: f64, price: f64) -> OrderRequest {
    let asked = order(side, OrderType::Limit);
    OrderRequest { time_in_force: Some(force), quantity: Some(quantity), price: Some(price), ..asked }
}

/// Panics unless it is refused with this code.
fn refused<T: std::fmt::Debug>(code: i32, answer: Result<T, Error>) {
    match answer {
        Err(Error::BinanceError { response }) if response.code == code => {}
        other => panic!("not refused with {code}: {other:?}"),
    }
}

async fn resting(account: &Account) -> Done {
    let mut asked = limit(OrderSide::Buy, TimeInForce::GTC, 2.0, 139.0);
    account.place_test_order(asked.clone()).await?;
    asked.new_client_order_id = Some("mine".to_owned());
    let placed = account.place_order(asked).await?;
    assert_eq!(placed.status, OrderStatus::New);
    let orig_client_order_id = Some("mine".to_owned());
    let query = OrderStatusRequest { symbol: SYMBOL.to_owned(), orig_client_order_id, ..Default::default() };
    assert_eq!(account.order_status(query).await?.order_id, placed.order_id);
    assert_eq!(account.get_open_orders(SYMBOL).await?[0].order_id, placed.order_id);
    assert_eq!(account.get_all_open_orders().await?.len(), 1);
    let order_id = Some(placed.order_id);
    let cancel = OrderCancellation { symbol: SYMBOL.to_owned(), order_id, ..Default::default() };
    assert_eq!(account.cancel_order(cancel.clone()).await?.orig_client_order_id, "mine");
    refused(-2011, account.cancel_order(cancel).await);
    let maker = OrderRequest { quantity: Some(1.0), ..order(OrderSide::Sell, OrderType::LimitMaker) };
    let placed = account.place_order(OrderRequest { price: Some(150.0), ..maker.clone() }).await?;
    assert_eq!((placed.status, placed.order_type), (OrderStatus::New, OrderType::LimitMaker));
    refused(-2010, account.place_order(OrderRequest { price: Some(139.0), ..maker }).await);
    // Its `cancel_all_open_orders` wants fields that Binance leaves out of the answer, and so do we.
    let order_id = Some(placed.order_id);
    account.cancel_order(OrderCancellation { symbol: SYMBOL.to_owned(), order_id, ..Default::default() }).await?;
    Ok(())
}

/// Orders that wait for a price: executions are at 140 and at 145.67.
async fn waiting(account: &Account) -> Done {
    let stop = |order_type, price| OrderRequest {
        quantity: Some(1.0),
        stop_price: Some(price),
        ..order(OrderSide::Sell, order_type)
    };
    let limited = |asked| OrderRequest { time_in_force: Some(TimeInForce::GTC), price: Some(120.0), ..asked };
    for asked in [
        stop(OrderType::StopLoss, 130.0),
        limited(stop(OrderType::StopLossLimit, 130.0)),
        stop(OrderType::TakeProfit, 160.0),
        limited(stop(OrderType::TakeProfitLimit, 160.0)),
    ] {
        let order_id = Some(account.place_order(asked.clone()).await?.order_id);
        let symbol = SYMBOL.to_owned();
        let query = OrderStatusRequest { symbol: symbol.clone(), order_id, ..Default::default() };
        let waits = account.order_status(query).await?;
        assert_eq!((waits.order_type, waits.is_working), (asked.order_type, false));
        assert_eq!((waits.status, Some(waits.stop_price)), (OrderStatus::New, asked.stop_price));
        account.cancel_order(OrderCancellation { symbol, order_id, ..Default::default() }).await?;
    }
    refused(-2010, account.place_order(stop(OrderType::StopLoss, 150.0)).await);
    Ok(())
}

async fn executing(account: &Account) -> Done {
    use OrderSide::{Buy, Sell};
    use OrderStatus::{Expired, Filled};
    let market = |side, quantity| OrderRequest { quantity: Some(quantity), ..order(side, OrderType::Market) };
    let for_money = |side, funds| OrderRequest { quote_order_qty: Some(funds), ..order(side, OrderType::Market) };
    for (asked, status, executed, price) in [
        (limit(Buy, TimeInForce::GTC, 4.0, 150.0), Filled, 4.0, 145.67),
        (limit(Buy, TimeInForce::IOC, 3.0, 145.67), Filled, 3.0, 145.67),
        (limit(Buy, TimeInForce::IOC, 3.0, 144.0), Expired, 0.0, 0.0),
        (limit(Sell, TimeInForce::FOK, 2.0, 140.0), Filled, 2.0, 140.0),
        (limit(Sell, TimeInForce::FOK, 2.0, 141.0), Expired, 0.0, 0.0),
        (market(Buy, 2.0), Filled, 2.0, 145.67),
        (market(Sell, 1.0), Filled, 1.0, 140.0),
        (for_money(Buy, 291.34), Filled, 2.0, 145.67),
        (for_money(Sell, 280.0), Filled, 2.0, 140.0),
    ] {
        let placed: Transaction = account.place_order(asked).await?;
        assert_eq!((&placed.status, placed.executed_qty), (&status, executed), "{placed:?}");
        assert!(placed.fills.iter().all(|fill| fill.price == price), "{placed:?}");
    }
    refused(-2010, account.place_order(limit(Buy, TimeInForce::GTC, 100_000.0, 150.0)).await);
    let query = OrdersQuery { symbol: SYMBOL.to_owned(), ..OrdersQuery::default() };
    assert_eq!(account.get_all_orders(query).await?.len(), 15);
    let mine = account.trade_history(SYMBOL).await?;
    assert!(mine.len() == 7 && mine.iter().all(|trade| !trade.is_maker), "{mine:?}");
    Ok(())
}

async fn past(config: &Config, account: &Account) -> Done {
    let market: Market = client(config);
    let KlineSummaries::AllKlineSummaries(klines) = market.get_klines(SYMBOL, "1m", None, None, None).await?;
    assert!(klines.iter().map(|kline| kline.volume).sum::<f64>() > 16.0, "{klines:?}");
    assert!(market.get_agg_trades(SYMBOL, None, None, None, Some(5)).await?.len() == 5);
    assert!([140.0, 145.67].contains(&market.get_price(SYMBOL).await?.price));
    assert_eq!(market.get_24h_price_stats(SYMBOL).await?.high_price, 145.67);
    assert!(market.get_average_price(SYMBOL).await?.price > 139.0);
    market.get_all_prices().await?;
    market.get_all_book_tickers().await?;
    assert!(account.get_open_orders(SYMBOL).await?.is_empty());
    Ok(())
}

async fn follow(config: &Config, account: &Account) -> Done {
    let wanted = vec![
        trade_stream("spyusd"),
        kline_stream("spyusd", "1m"),
        ticker_stream("spyusd"),
        diff_book_depth_stream("spyusd", 100),
    ];
    let going_on = AtomicBool::new(true);
    let mut left = vec!["trade", "kline", "ticker", "depth"];
    let mut streams = WebSockets::new_with_options(
        |event: CombinedStreamEvent<WebsocketEvent>| {
            let told = match event.data {
                WebsocketEvent::Trade(_) => "trade",
                WebsocketEvent::Kline(_) => "kline",
                WebsocketEvent::DayTicker(_) => "ticker",
                WebsocketEvent::DepthOrderBook(_) => "depth",
                other => panic!("nobody asked for {other:?}"),
            };
            left.retain(|what| *what != told);
            going_on.store(!left.is_empty(), Ordering::Relaxed);
            Ok(())
        },
        config.clone(),
    );
    streams.connect_multiple(wanted).await?;
    tokio::time::timeout(PATIENCE, streams.event_loop(&going_on)).await.expect("all streams tell something")?;
    reported(config, account).await
}

/// The account's stream tells how orders end, and what the account has then.
async fn reported(config: &Config, account: &Account) -> Done {
    let keys: UserStream = client(config);
    let key = keys.start().await?.listen_key;
    keys.keep_alive(&key).await?;
    let going_on = AtomicBool::new(true);
    let mut left = vec!["MARKET", "IOC", "SPY"];
    let mut streams = WebSockets::new_with_options(
        |event: WebsocketEvent| {
            left.retain(|what| match (&event, *what) {
                (WebsocketEvent::OrderUpdate(report), "MARKET") => {
                    (&report.order_type, &report.current_order_status) != (&OrderType::Market, &OrderStatus::Filled)
                }
                (WebsocketEvent::OrderUpdate(report), "IOC") => {
                    (&report.time_in_force, &report.current_order_status) != (&TimeInForce::IOC, &OrderStatus::Expired)
                }
                (WebsocketEvent::AccountPositionUpdate(update), "SPY") => {
                    update.balances.iter().all(|balance| balance.asset != "SPY")
                }
                _ => true,
            });
            going_on.store(!left.is_empty(), Ordering::Relaxed);
            Ok(())
        },
        config.clone(),
    );
    streams.connect(&key).await?;
    account.place_order(limit(OrderSide::Buy, TimeInForce::IOC, 1.0, 144.0)).await?;
    account.place_order(OrderRequest { quantity: Some(1.0), ..order(OrderSide::Buy, OrderType::Market) }).await?;
    tokio::time::timeout(PATIENCE, streams.event_loop(&going_on)).await.expect("all is reported")?;
    keys.close(&key).await?;
    Ok(())
}
