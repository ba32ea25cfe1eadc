// QuickFIX/Go trades over FIX 4.4 with its default settings, and holds each message that it gets against the dictionary that comes with it. The server comes from
// the environment: PRICETIME_FIX is its address, and API_KEY and API_SECRET are a member's if it wants to know who asks. Account 1 has
// dollars, account 2 has shares of SPY, AUC is in an auction and has no price band, and nobody else trades. With `lasting FOLDER PART` it
// does one part of a session that goes on over several runs, with its store of files in the folder.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/quickfixgo/quickfix"
)

const patience = 20 * time.Second

type tags map[quickfix.Tag]string

// client is told what comes, one message at a time.
type client struct {
	came     chan *quickfix.Message
	loggedOn chan bool
}

func (c *client) OnCreate(quickfix.SessionID)                       {}
func (c *client) OnLogon(quickfix.SessionID)                        { c.loggedOn <- true }
func (c *client) OnLogout(quickfix.SessionID)                       {}
func (c *client) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }

func (c *client) ToAdmin(message *quickfix.Message, _ quickfix.SessionID) {
	if kind, _ := message.MsgType(); kind == "A" && os.Getenv("API_KEY") != "" {
		message.Body.SetString(553, os.Getenv("API_KEY"))
		message.Body.SetString(554, os.Getenv("API_SECRET"))
	}
}

func (c *client) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	if kind, _ := message.MsgType(); kind == "3" || kind == "5" {
		c.came <- message
	}
	return nil
}

func (c *client) FromApp(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	c.came <- message
	return nil
}

// session is a client that has logged on.
type session struct {
	*client
	id        quickfix.SessionID
	initiator *quickfix.Initiator
}

func logOn(name string) session {
	return logOnKeeping(name, "unused", func(*quickfix.Settings) quickfix.MessageStoreFactory { return quickfix.NewMemoryStoreFactory() })
}

// logOnKeeping logs on with a store of messages, which may keep them in a folder.
func logOnKeeping(name, folder string, store func(*quickfix.Settings) quickfix.MessageStoreFactory) session {
	host, port, _ := strings.Cut(os.Getenv("PRICETIME_FIX"), ":")
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/quickfixgo/quickfix").Output()
	check(err == nil, "go list: %v", err)
	settings, err := quickfix.ParseSettings(strings.NewReader(fmt.Sprintf(`[DEFAULT]
ConnectionType=initiator
HeartBtInt=5
ReconnectInterval=1
FileStorePath=%s
SocketConnectHost=%s
SocketConnectPort=%s
DataDictionary=%s
[SESSION]
BeginString=FIX.4.4
SenderCompID=%s
TargetCompID=PRICETIME
`, folder, host, port, filepath.Join(strings.TrimSpace(string(module)), "spec", "FIX44.xml"), name)))
	check(err == nil, "settings: %v", err)
	c := &client{came: make(chan *quickfix.Message, 1000), loggedOn: make(chan bool, 10)}
	initiator, err := quickfix.NewInitiator(c, store(settings), settings, quickfix.NewNullLogFactory())
	check(err == nil, "initiator: %v", err)
	check(initiator.Start() == nil, "cannot start")
	select {
	case <-c.loggedOn:
	case <-time.After(patience):
		check(false, "%s is not logged on", name)
	}
	return session{c, quickfix.SessionID{BeginString: "FIX.4.4", SenderCompID: name, TargetCompID: "PRICETIME"}, initiator}
}

func check(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Sprintf(format, values...))
	}
}

func (s session) send(kind string, fields tags) {
	message := quickfix.NewMessage()
	message.Header.SetString(35, kind)
	message.Body.SetString(60, time.Now().UTC().Format("20060102-15:04:05.000"))
	for tag, value := range fields {
		message.Body.SetString(tag, value)
	}
	check(quickfix.SendToTarget(message, s.id) == nil, "cannot send %v", fields)
}

// next is the next message, which is of this kind and has these fields.
func (s session) next(kind string, fields tags) *quickfix.Message {
	select {
	case message := <-s.came:
		its, _ := message.MsgType()
		check(its == kind, "expected %s with %v: %s", kind, fields, message)
		for tag, value := range fields {
			text, err := message.Body.GetString(tag)
			check(err == nil && text == value, "expected %d=%s: %s", tag, value, message)
		}
		return message
	case <-time.After(patience):
		panic(fmt.Sprintf("no %s with %v came", kind, fields))
	}
}

// lasting does one part of a session. Each order is for 60 shares, of which others sell one at a time.
func lasting(folder, part string) {
	s := logOnKeeping("LASTING", folder, quickfix.NewFileStoreFactory)
	fills, err := os.OpenFile(filepath.Join(folder, "fills"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err == nil, "fills: %v", err)
	order := func(name string) {
		s.send("D", tags{11: name, 1: "1", 55: "SPY", 54: "1", 38: "60", 40: "2", 59: "1", 44: "100"})
	}
	// fill notes the ExecID of the next fill, and returns how many shares of its order are executed.
	fill := func() string {
		message := s.next("8", tags{150: "F", 32: "1"})
		id, _ := message.Body.GetString(17)
		_, err := fmt.Fprintln(fills, id)
		check(err == nil, "fills: %v", err)
		executed, _ := message.Body.GetString(14)
		return executed
	}
	switch part {
	case "begin":
		order("first")
		s.next("8", tags{150: "0", 11: "first"})
	case "middle":
		// Those of before come first, and it is cut in the middle of others.
		for executed := 1; executed <= 10; executed++ {
			check(fill() == fmt.Sprint(executed), "a fill is missing")
		}
	case "end":
		for executed := 11; executed <= 60; executed++ {
			check(fill() == fmt.Sprint(executed), "a fill is missing")
		}
		order("second")
		s.next("8", tags{150: "0", 11: "second"})
		s.initiator.Stop()
	}
	// Without a Logout, but at the end.
	fmt.Println("QuickFIX/Go: the session goes on")
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "lasting" {
		lasting(os.Args[2], os.Args[3])
		return
	}
	buyer, seller := logOn("BUYER"), logOn("SELLER")
	order := func(name, account, side, shares string, more tags) tags {
		all := tags{11: name, 1: account, 55: "SPY", 54: side, 38: shares, 40: "2", 59: "1"}
		for tag, value := range more {
			all[tag] = value
		}
		return all
	}

	// It rests, it is executed in two parts, each at its price, and is filled.
	buyer.send("D", order("b1", "1", "1", "10", tags{44: "100.5"}))
	placed := buyer.next("8", tags{150: "0", 39: "0", 11: "b1", 38: "10", 44: "100.5", 151: "10", 14: "0", 40: "2", 59: "1"})
	id, _ := placed.Body.GetString(37)
	seller.send("D", order("s1", "2", "2", "4", tags{44: "99"}))
	seller.next("8", tags{150: "0", 39: "0", 11: "s1", 44: "99"})
	seller.next("8", tags{150: "F", 39: "2", 11: "s1", 31: "100.5", 32: "4", 14: "4", 151: "0", 6: "100.5"})
	buyer.next("8", tags{150: "F", 39: "1", 11: "b1", 31: "100.5", 32: "4", 14: "4", 151: "6", 6: "100.5", 37: id})

	// Shares are taken off it under another name, by which it is canceled.
	buyer.send("G", order("b2", "1", "1", "9", tags{41: "b1", 44: "100.5"}))
	buyer.next("8", tags{150: "5", 39: "1", 11: "b2", 41: "b1", 38: "9", 14: "4", 151: "5", 37: id})
	// It gets another price and more shares, an end, and a part that it shows; it cannot become a sell.
	buyer.send("G", order("b3", "1", "1", "12", tags{41: "b2", 44: "98"}))
	buyer.next("8", tags{150: "5", 39: "1", 11: "b3", 41: "b2", 38: "12", 14: "4", 151: "8", 44: "98", 37: id})
	buyer.send("G", order("b31", "1", "1", "12", tags{41: "b3", 44: "98", 59: "6", 126: "20991231-23:59:59", 111: "3"}))
	buyer.next("8", tags{150: "5", 39: "1", 11: "b31", 41: "b3", 38: "12", 59: "6", 126: "20991231-23:59:59.000", 111: "3", 37: id})
	buyer.send("G", order("b32", "1", "2", "12", tags{41: "b31", 44: "98"}))
	buyer.next("9", tags{11: "b32", 41: "b31", 39: "1", 434: "2", 102: "99", 37: id})
	buyer.send("H", tags{11: "b1", 1: "1", 55: "SPY", 54: "1"})
	buyer.next("8", tags{150: "I", 39: "1", 14: "4", 151: "8", 37: id})
	buyer.send("F", tags{11: "b4", 41: "b31", 1: "1", 55: "SPY", 54: "1", 38: "12"})
	buyer.next("8", tags{150: "4", 39: "4", 11: "b4", 41: "b31", 14: "4", 151: "0", 37: id})

	// A stop gets another price to wait for, and an order that is to be done at once is replaced, executed and canceled.
	buyer.send("D", order("g1", "1", "1", "1", tags{40: "4", 99: "130", 44: "131"}))
	stop, _ := buyer.next("8", tags{150: "0", 11: "g1", 40: "4", 99: "130"}).Body.GetString(37)
	buyer.send("G", order("g2", "1", "1", "1", tags{41: "g1", 40: "4", 99: "140", 44: "141"}))
	buyer.next("8", tags{150: "5", 39: "0", 11: "g2", 41: "g1", 40: "4", 99: "140", 44: "141", 37: stop})
	buyer.send("F", tags{11: "g3", 41: "g2", 1: "1", 55: "SPY", 54: "1", 38: "1"})
	buyer.next("8", tags{150: "4", 11: "g3", 41: "g2", 37: stop})
	seller.send("D", order("g4", "2", "2", "2", tags{44: "97"}))
	seller.next("8", tags{150: "0", 11: "g4"})
	buyer.send("D", order("g5", "1", "1", "3", tags{44: "90"}))
	buyer.next("8", tags{150: "0", 11: "g5"})
	buyer.send("G", order("g6", "1", "1", "3", tags{41: "g5", 44: "97", 59: "3"}))
	buyer.next("8", tags{150: "5", 39: "0", 11: "g6", 41: "g5", 44: "97", 59: "3", 151: "3"})
	buyer.next("8", tags{150: "F", 39: "1", 11: "g6", 31: "97", 32: "2", 14: "2"})
	buyer.next("8", tags{150: "C", 39: "C", 11: "g6", 14: "2", 151: "0"})
	seller.next("8", tags{150: "F", 39: "2", 11: "g4", 31: "97"})
	buyer.send("F", tags{11: "b5", 37: id, 41: "b1", 1: "1", 55: "SPY", 54: "1", 38: "9"})
	buyer.next("9", tags{11: "b5", 39: "4", 434: "1", 102: "0", 37: id})
	buyer.send("F", tags{11: "b6", 41: "never", 1: "1", 55: "SPY", 54: "1", 38: "9"})
	buyer.next("9", tags{11: "b6", 39: "8", 102: "1", 37: "NONE"})
	buyer.send("H", tags{11: "b1", 37: id, 1: "1", 55: "SPY", 54: "1"})
	buyer.next("8", tags{150: "I", 39: "4", 14: "4", 151: "0", 6: "100.5"})

	// What is left of an order that does not rest is canceled, and a name stands for one order.
	seller.send("D", order("s2", "2", "2", "1", tags{44: "99", 59: "3"}))
	seller.next("8", tags{150: "0", 11: "s2", 59: "3"})
	seller.next("8", tags{150: "C", 39: "C", 11: "s2", 151: "0", 58: "not_resting"})
	seller.send("D", order("s3", "2", "2", "1", tags{44: "120"}))
	seller.next("8", tags{150: "0", 11: "s3"})
	seller.send("D", order("s3", "2", "2", "1", tags{44: "120"}))
	seller.next("8", tags{150: "8", 39: "8", 103: "6", 11: "s3", 37: "NONE"})
	seller.send("D", order("s4", "2", "2", "1000000", tags{44: "120"}))
	rejected := seller.next("8", tags{150: "8", 39: "8", 103: "3", 11: "s4"})
	text, _ := rejected.Body.GetString(58)
	check(strings.HasPrefix(text, "Insufficient shares"), "%s", text)

	// A stop waits until it is triggered; post-only orders, ones that end at a time and ones that show a part are told as such.
	buyer.send("D", order("b7", "1", "1", "2", tags{40: "3", 99: "119"}))
	buyer.next("8", tags{150: "0", 11: "b7", 40: "3", 99: "119"})
	buyer.send("D", order("b8", "1", "1", "3", tags{44: "90", 18: "6", 111: "1", 59: "6", 126: "20991231-23:59:59"}))
	buyer.next("8", tags{150: "0", 11: "b8", 18: "6", 111: "1", 59: "6", 126: "20991231-23:59:59.000"})
	buyer.send("D", tags{11: "b9", 1: "1", 55: "SPY", 54: "1", 152: "120", 40: "1"})
	buyer.next("8", tags{150: "0", 11: "b9", 40: "1", 38: "1"})
	buyer.next("8", tags{150: "F", 39: "2", 11: "b9", 31: "120"})
	buyer.next("8", tags{150: "D", 378: "99", 11: "b7", 58: "triggered"})
	buyer.next("8", tags{150: "C", 11: "b7", 58: "not_resting"})
	seller.next("8", tags{150: "F", 39: "2", 11: "s3", 31: "120"})

	// An order for an auction is one in every report, and is refused where no auction is, or no band bounds its price.
	auction := func(name string, more tags) tags {
		all := order(name, "1", "1", "4", tags{55: "AUC", 59: "2"})
		for tag, value := range more {
			all[tag] = value
		}
		return all
	}
	buyer.send("D", auction("a1", tags{44: "90"}))
	gathers, _ := buyer.next("8", tags{150: "0", 39: "0", 11: "a1", 40: "2", 59: "2", 44: "90", 151: "4"}).Body.GetString(37)
	buyer.send("G", auction("a2", tags{41: "a1", 44: "91", 38: "3"}))
	buyer.next("8", tags{150: "5", 39: "0", 11: "a2", 41: "a1", 59: "2", 44: "91", 151: "3", 37: gathers})
	buyer.send("G", auction("a3", tags{41: "a2", 44: "91", 59: "1"}))
	buyer.next("9", tags{11: "a3", 41: "a2", 39: "0", 434: "2", 102: "99", 37: gathers})
	buyer.send("F", tags{11: "a4", 41: "a2", 1: "1", 55: "AUC", 54: "1", 38: "3"})
	buyer.next("8", tags{150: "4", 39: "4", 11: "a4", 41: "a2", 59: "2", 151: "0", 37: gathers})
	buyer.send("D", auction("a5", tags{40: "1"}))
	buyer.next("8", tags{150: "8", 39: "8", 103: "99", 11: "a5", 40: "1", 59: "2"})
	buyer.send("D", auction("a6", tags{55: "SPY", 44: "90"}))
	waits, _ := buyer.next("8", tags{150: "0", 39: "0", 11: "a6", 59: "2"}).Body.GetString(37)
	buyer.send("F", tags{11: "a7", 41: "a6", 1: "1", 55: "SPY", 54: "1"})
	buyer.next("8", tags{150: "4", 39: "4", 11: "a7", 41: "a6", 151: "0", 37: waits})

	// All open orders are told, and all are canceled.
	buyer.send("D", order("c1", "1", "1", "1", tags{44: "80"}))
	buyer.next("8", tags{150: "0", 11: "c1"})
	buyer.send("AF", tags{584: "all", 585: "7", 1: "1"})
	buyer.next("8", tags{150: "I", 39: "0", 11: "b8", 584: "all", 911: "2", 912: "N"})
	buyer.next("8", tags{150: "I", 39: "0", 11: "c1", 584: "all", 911: "2", 912: "Y"})
	buyer.send("q", tags{11: "k1", 530: "7", 1: "1"})
	// The answer, and what becomes of each, in any order.
	for came := 0; came < 3; came++ {
		select {
		case message := <-buyer.came:
			kind, _ := message.MsgType()
			how, _ := message.Body.GetString(150)
			orders, _ := message.Body.GetString(533)
			check((kind == "r" && orders == "2") || (kind == "8" && how == "4"), "%s", message)
		case <-time.After(patience):
			panic("not all were canceled")
		}
	}
	buyer.send("AF", tags{584: "none", 585: "7", 1: "1"})
	buyer.next("8", tags{150: "I", 39: "8", 911: "0", 912: "Y", 584: "none"})

	// What is wrong is named, and the session goes on.
	buyer.send("D", order("w1", "1", "1", "x", tags{44: "80"}))
	buyer.next("3", tags{371: "38", 372: "D", 373: "5"})
	buyer.send("D", order("w2", "1", "1", "1", tags{44: "80", 110: "1"}))
	buyer.next("3", tags{371: "110", 373: "5"})
	buyer.send("V", tags{262: "m", 263: "1", 264: "0"})
	buyer.next("j", tags{372: "V", 380: "3"})
	buyer.send("D", order("w3", "1", "1", "1", tags{44: "80"}))
	buyer.next("8", tags{150: "0", 11: "w3"})

	// Whoever comes again, under whatever name, is told of the same orders.
	buyer.initiator.Stop()
	again := logOn("BUYER-AGAIN")
	again.send("AF", tags{584: "again", 585: "1", 55: "SPY", 1: "1"})
	again.next("8", tags{150: "I", 39: "0", 11: "w3", 911: "1", 912: "Y"})
	again.send("F", tags{11: "w4", 41: "w3", 1: "1", 55: "SPY", 54: "1", 38: "1"})
	again.next("8", tags{150: "4", 39: "4", 11: "w4", 41: "w3"})

	// A client that says nothing keeps its session by heartbeats.
	time.Sleep(7 * time.Second)
	again.send("H", tags{11: "w3", 1: "1", 55: "SPY", 54: "1"})
	again.next("8", tags{150: "I", 39: "4"})
	again.initiator.Stop()
	seller.initiator.Stop()
	fmt.Println("QuickFIX/Go: FIX is as it should be")
}
