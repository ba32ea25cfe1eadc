// go-binance, with nothing but the addresses changed, on a market in which somebody offers at 145.67, bids at 140 and takes a
// little of both all the time. The server and the key come from the environment, as in ../market.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
)

const (
	symbol   = "SPYUSD"
	patience = 30 * time.Second
)

var (
	now    = context.Background()
	host   = os.Getenv("PRICETIME_HTTP")
	key    = os.Getenv("API_KEY")
	secret = os.Getenv("API_SECRET")
	client = binance.NewClient(key, secret)
)

func main() {
	client.BaseURL = "http://" + host + "/binance"
	binance.BaseWsMainURL = "ws://" + host + "/binance/ws"
	binance.BaseCombinedMainURL = "ws://" + host + "/binance/stream?streams="
	binance.BaseWsApiMainURL = "ws://" + host + "/binance/ws-api/v3"
	market()
	resting()
	waiting()
	executing()
	past()
	fmt.Println("go-binance: REST is as it should be")
	follow()
	fmt.Println("go-binance: streams are as they should be")
}

// must ends the program unless a call went well.
func must[T any](answer T, err error) T {
	check(err == nil, "%v", err)
	return answer
}

func check(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Sprintf(format, values...))
	}
}

// refused ends the program unless a call was refused with this code.
func refused(code int64, err error) {
	var refusal *common.APIError
	check(errors.As(err, &refusal) && refusal.Code == code, "not refused with %d: %v", code, err)
}

func number(text string) float64 {
	return must(strconv.ParseFloat(text, 64))
}

func order(side binance.SideType, kind binance.OrderType) *binance.CreateOrderService {
	return client.NewCreateOrderService().Symbol(symbol).Side(side).Type(kind).NewOrderRespType(binance.NewOrderRespTypeFULL)
}

func limit(side binance.SideType, force binance.TimeInForceType, quantity, price string) *binance.CreateOrderService {
	return order(side, binance.OrderTypeLimit).TimeInForce(force).Quantity(quantity).Price(price)
}

func market() {
	check(client.NewPingService().Do(now) == nil, "no answer to a ping")
	must(client.NewSetServerTimeService().Do(now))
	info := must(client.NewExchangeInfoService().Symbol(symbol).Do(now)).Symbols[0]
	check(info.BaseAsset == "SPY" && info.LotSizeFilter().StepSize == "0.00000001", "%+v", info)
	account := must(client.NewGetAccountService().Do(now))
	check(account.Balances[0] == binance.Balance{Asset: "USD", Free: "100000.00000000", Locked: "0.00000000"}, "%+v", account)
	depth := must(client.NewDepthService().Symbol(symbol).Limit(5).Do(now))
	check(depth.Bids[0].Price == "140.00000000" && depth.Asks[0].Price == "145.67000000", "%+v", depth)
	best := must(client.NewListBookTickersService().Symbol(symbol).Do(now))[0]
	check(best.BidPrice == "140.00000000" && best.AskPrice == "145.67000000", "%+v", best)
	fee := must(client.NewTradeFeeService().Symbol(symbol).Do(now))[0]
	check(fee.MakerCommission == "0", "%+v", fee)
}

func resting() {
	buy := limit(binance.SideTypeBuy, binance.TimeInForceTypeGTC, "2", "139")
	check(buy.Test(now) == nil, "the order would be refused")
	placed := must(buy.NewClientOrderID("mine").Do(now))
	check(placed.Status == binance.OrderStatusTypeNew, "%+v", placed)
	found := must(client.NewGetOrderService().Symbol(symbol).OrigClientOrderID("mine").Do(now))
	check(found.OrderID == placed.OrderID, "%+v", found)
	open := must(client.NewListOpenOrdersService().Symbol(symbol).Do(now))
	check(len(open) == 1 && open[0].OrderID == placed.OrderID, "%+v", open)
	canceled := must(client.NewCancelOrderService().Symbol(symbol).OrderID(placed.OrderID).Do(now))
	check(canceled.Status == binance.OrderStatusTypeCanceled && canceled.OrigClientOrderID == "mine", "%+v", canceled)
	_, err := client.NewCancelOrderService().Symbol(symbol).OrderID(placed.OrderID).Do(now)
	refused(-2011, err)
	own := must(limit(binance.SideTypeBuy, binance.TimeInForceTypeGTC, "1", "141").Do(now))
	meets := limit(binance.SideTypeSell, binance.TimeInForceTypeGTC, "1", "141")
	met := must(meets.SelfTradePreventionMode(binance.SelfTradePreventionModeExpireTaker).Do(now))
	check(met.Status == "EXPIRED_IN_MATCH" && met.ExecutedQuantity == "0.00000000", "%+v", met)
	must(client.NewCancelOrderService().Symbol(symbol).OrderID(own.OrderID).Do(now))
	maker := order(binance.SideTypeSell, binance.OrderTypeLimitMaker).Quantity("1")
	check(must(maker.Price("150").Do(now)).Type == binance.OrderTypeLimitMaker, "it is one that only rests")
	_, err = maker.Price("139").Do(now)
	refused(-2010, err)
	all := must(client.NewCancelOpenOrdersService().Symbol(symbol).Do(now))
	check(len(all.Orders) == 1, "%+v", all)
}

// waiting places orders that wait for a price: executions are at 140 and at 145.67.
func waiting() {
	for kind, stop := range map[binance.OrderType]string{
		binance.OrderTypeStopLoss:        "130.00000000",
		binance.OrderTypeStopLossLimit:   "130.00000000",
		binance.OrderTypeTakeProfit:      "160.00000000",
		binance.OrderTypeTakeProfitLimit: "160.00000000",
	} {
		asked := order(binance.SideTypeSell, kind).Quantity("1").StopPrice(stop)
		if strings.HasSuffix(string(kind), "LIMIT") {
			asked.TimeInForce(binance.TimeInForceTypeGTC).Price("120")
		}
		placed := must(asked.Do(now))
		waits := must(client.NewGetOrderService().Symbol(symbol).OrderID(placed.OrderID).Do(now))
		check(waits.Type == kind && waits.StopPrice == stop && !waits.IsWorking, "%+v", waits)
		must(client.NewCancelOrderService().Symbol(symbol).OrderID(placed.OrderID).Do(now))
	}
	_, err := order(binance.SideTypeSell, binance.OrderTypeStopLoss).Quantity("1").StopPrice("150").Do(now)
	refused(-2010, err)
}

func executing() {
	buy, sell := binance.SideTypeBuy, binance.SideTypeSell
	for _, asked := range []struct {
		order    *binance.CreateOrderService
		status   binance.OrderStatusType
		executed float64
		price    string
	}{
		{limit(buy, binance.TimeInForceTypeGTC, "4", "150"), binance.OrderStatusTypeFilled, 4, "145.67000000"},
		{limit(buy, binance.TimeInForceTypeIOC, "3", "145.67"), binance.OrderStatusTypeFilled, 3, "145.67000000"},
		{limit(buy, binance.TimeInForceTypeIOC, "3", "144"), binance.OrderStatusTypeExpired, 0, ""},
		{limit(sell, binance.TimeInForceTypeFOK, "2", "140"), binance.OrderStatusTypeFilled, 2, "140.00000000"},
		{limit(sell, binance.TimeInForceTypeFOK, "2", "141"), binance.OrderStatusTypeExpired, 0, ""},
		{order(buy, binance.OrderTypeMarket).Quantity("2"), binance.OrderStatusTypeFilled, 2, "145.67000000"},
		{order(sell, binance.OrderTypeMarket).Quantity("1"), binance.OrderStatusTypeFilled, 1, "140.00000000"},
		{order(buy, binance.OrderTypeMarket).QuoteOrderQty("291.34"), binance.OrderStatusTypeFilled, 2, "145.67000000"},
		{order(sell, binance.OrderTypeMarket).QuoteOrderQty("280"), binance.OrderStatusTypeFilled, 2, "140.00000000"},
	} {
		placed := must(asked.order.Do(now))
		check(placed.Status == asked.status && number(placed.ExecutedQuantity) == asked.executed, "%+v", placed)
		for _, fill := range placed.Fills {
			check(fill.Price == asked.price, "%+v", fill)
		}
	}
	_, err := limit(buy, binance.TimeInForceTypeGTC, "100000", "150").Do(now)
	refused(-2010, err)
	ended := must(client.NewListOrdersService().Symbol(symbol).Do(now))
	check(len(ended) == 17, "%d orders", len(ended))
	mine := must(client.NewListTradesService().Symbol(symbol).Do(now))
	// Somebody may have sold to the order that rested for a moment above the best bid.
	taken := slices.DeleteFunc(mine, func(trade *binance.TradeV3) bool { return trade.IsMaker })
	check(len(taken) == 7 && taken[0].IsBuyer, "%+v", taken)
}

func past() {
	volume := 0.0
	for _, kline := range must(client.NewKlinesService().Symbol(symbol).Interval("1m").Do(now)) {
		volume += number(kline.Volume)
	}
	check(volume > 16, "%f", volume)
	check(len(must(client.NewUiKlinesService().Symbol(symbol).Interval("1d").Do(now))) >= 1, "no candle of a day")
	check(len(must(client.NewRecentTradesService().Symbol(symbol).Do(now))) > 7, "few trades")
	check(len(must(client.NewHistoricalTradesService().Symbol(symbol).Limit(5).Do(now))) == 5, "not five trades")
	check(len(must(client.NewAggTradesService().Symbol(symbol).Do(now))) > 7, "few trades")
	check(must(client.NewListPricesService().Symbol(symbol).Do(now))[0].Symbol == symbol, "another price")
	check(must(client.NewListPriceChangeStatsService().Symbol(symbol).Do(now))[0].HighPrice == "145.67000000", "another day")
	check(number(must(client.NewAveragePriceService().Symbol(symbol).Do(now)).Price) > 139, "another average")
	check(must(client.NewTradingDayTickerService().Symbol(symbol).Do(now))[0].Symbol == symbol, "another day")
}

// soon gives the next event that comes; an error of the stream ends the program.
func soon[T any](what string, events <-chan T) T {
	select {
	case event := <-events:
		return event
	case <-time.After(patience):
		panic("waited in vain for " + what)
	}
}

func failed(err error) {
	panic(err)
}

// serve follows a stream; its events come through the channel as long as somebody takes them.
func serve[T any](open func(handler func(T)) (chan struct{}, chan struct{}, error)) <-chan T {
	events := make(chan T)
	_, _, err := open(func(event T) { events <- event })
	check(err == nil, "%v", err)
	return events
}

func follow() {
	trade := soon("a trade", serve(func(handler func(*binance.WsTradeEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsTradeServe(symbol, handler, failed)
	}))
	check(trade.Price == "140.00000000" || trade.Price == "145.67000000", "%+v", trade)
	depth := soon("depth", serve(func(handler func(*binance.WsDepthEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsCombinedDepthServe100Ms([]string{symbol}, handler, failed)
	}))
	check(depth.Symbol == symbol && depth.FirstUpdateID <= depth.LastUpdateID, "%+v", depth)
	kline := soon("a candle", serve(func(handler func(*binance.WsKlineEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsKlineServe(symbol, "1m", handler, failed)
	}))
	check(number(kline.Kline.Volume) > 0, "%+v", kline)
	best := soon("best prices", serve(func(handler func(*binance.WsPartialDepthEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsPartialDepthServe100Ms(symbol, "5", handler, failed)
	}))
	check(best.Bids[0].Price == "140.00000000", "%+v", best)

	// The account's stream, by a listen key and by a signature over the WebSocket API.
	listenKey := must(client.NewStartUserStreamService().Do(now))
	check(client.NewKeepaliveUserStreamService().ListenKey(listenKey).Do(now) == nil, "the listen key ended")
	reported(serve(func(handler func(*binance.WsUserDataEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsUserDataServe(listenKey, handler, failed)
	}))
	reported(serve(func(handler func(*binance.WsUserDataEvent)) (chan struct{}, chan struct{}, error) {
		return binance.WsUserDataServeSignature(key, secret, common.KeyTypeHmac, 0, handler, failed)
	}))
	check(client.NewCloseUserStreamService().ListenKey(listenKey).Do(now) == nil, "the listen key cannot be closed")
}

// reported places orders until an account's stream tells of one, since a stream may begin after its first orders.
func reported(events <-chan *binance.WsUserDataEvent) {
	late := time.After(patience)
	seen := map[string]bool{}
	for !(seen["FILLED"] && seen["EXPIRED"] && seen["SPY"]) {
		must(order(binance.SideTypeBuy, binance.OrderTypeMarket).Quantity("0.5").Do(now))
		must(limit(binance.SideTypeBuy, binance.TimeInForceTypeIOC, "0.5", "144").Do(now))
		for quiet := false; !quiet; {
			select {
			case event := <-events:
				seen[event.OrderUpdate.Status] = true
				for _, balance := range event.AccountUpdate.WsAccountUpdates {
					seen[balance.Asset] = true
				}
			case <-time.After(200 * time.Millisecond):
				quiet = true
			case <-late:
				panic(fmt.Sprintf("waited in vain for reports: %v", seen))
			}
		}
	}
}
