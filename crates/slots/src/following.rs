//! Orders of one symbol and side whose triggers follow its price. Orders with the same best price since their placing
//! form a group, so a price that passes other ones moves no order: it merges groups. An order knows its group, and its
//! trigger follows from the best price of that. A merge takes the smaller groups into the largest one, so an order
//! changes its group as often at most, for each order placed, as a number halves. Orders stand under 32-bit handles
//! here; this file knows nothing else of them.

use std::collections::{BTreeMap, BTreeSet};

use terms::{Price, Side, Trail, Trigger};

/// Orders that had the same best price: the highest one of sells, the lowest one of buys.
#[derive(Debug)]
struct Group {
    best: Price,
    /// The trigger that an execution reaches first.
    nearest: Trigger,
    /// The numbers of the distances, and the handles.
    orders: BTreeSet<(i64, u32)>,
}

/// All orders of a symbol and side that follow its price.
#[derive(Debug)]
pub struct Following {
    side: Side,
    groups: BTreeMap<u32, Group>,
    /// Numbers of groups that are used again.
    free: Vec<u32>,
    /// The groups by the rank of their best price: a new price passes those of lower ranks.
    by_best: BTreeMap<i64, u32>,
    by_nearest: BTreeSet<(Trigger, u32)>,
    orders: usize,
    /// The rank of a price up to which no price moves a trigger, found out since an order was added or moved.
    moved_none: i64,
}

impl Following {
    /// No orders of this side yet.
    pub fn new(side: Side) -> Following {
        let (by_best, by_nearest) = (BTreeMap::new(), BTreeSet::new());
        Following {
            side,
            groups: BTreeMap::new(),
            free: Vec::new(),
            by_best,
            by_nearest,
            orders: 0,
            moved_none: i64::MIN,
        }
    }

    /// The number of orders.
    pub fn len(&self) -> usize {
        self.orders
    }

    /// Whether no order follows.
    pub fn is_empty(&self) -> bool {
        self.orders == 0
    }

    /// Adds an order whose best price is this one, behind which its distance has a trigger. Returns its group.
    pub fn insert(&mut self, handle: u32, trail: Trail, best: Price) -> u32 {
        let rank = self.rank(best);
        let group = match self.by_best.get(&rank) {
            Some(&group) => group,
            None => {
                let fresh = || u32::try_from(self.groups.len()).expect("invariant: fewer groups than handles");
                let group = self.free.pop().unwrap_or_else(fresh);
                self.by_best.insert(rank, group);
                group
            }
        };
        let trigger = behind(self.side, best, trail);
        let new = || Group { best, nearest: trigger, orders: BTreeSet::new() };
        let at = self.groups.entry(group).or_insert_with(new);
        self.by_nearest.remove(&(at.nearest, group));
        at.nearest = at.nearest.min(trigger);
        at.orders.insert((Trail::code(Some(trail)), handle));
        self.by_nearest.insert((at.nearest, group));
        self.orders = self.orders.saturating_add(1);
        self.moved_none = i64::MIN;
        group
    }

    /// Takes an order out of its group.
    pub fn remove(&mut self, handle: u32, trail: Trail, group: u32) {
        let at = self.groups.get_mut(&group).expect("invariant: an order knows its group");
        assert!(at.orders.remove(&(Trail::code(Some(trail)), handle)), "invariant: an order stands in its group");
        self.orders = self.orders.saturating_sub(1);
        self.by_nearest.remove(&(at.nearest, group));
        match nearest(self.side, at.best, &at.orders) {
            Some(trigger) => {
                at.nearest = trigger;
                self.by_nearest.insert((trigger, group));
            }
            None => {
                self.take_group(group);
                self.free.push(group);
            }
        }
    }

    /// The trigger of an order of a group.
    pub fn trigger(&self, trail: Trail, group: u32) -> Trigger {
        behind(self.side, self.groups[&group].best, trail)
    }

    /// The trigger that an execution reaches first.
    pub fn nearest(&self) -> Option<Trigger> {
        self.by_nearest.first().map(|&(trigger, _)| trigger)
    }

    /// The price behind which a price may move a trigger: the best one that it passes first, or one behind it up to
    /// which none moves.
    pub fn moves_behind(&self) -> Option<Price> {
        let (&rank, _) = self.by_best.first_key_value()?;
        Price::from_units(rank.max(self.moved_none).abs())
    }

    /// Merges the groups that this price passes. Tells the orders whose group is another one now. Returns whether a
    /// trigger moved; if none does, the groups stay.
    pub fn follow(&mut self, price: Price, mut tell: impl FnMut(u32, u32)) -> bool {
        let rank = self.rank(price);
        let mut merged: Vec<u32> = self.by_best.range(..rank).map(|(_, &group)| group).collect();
        if !merged.iter().any(|group| moves(self.side, &self.groups[group], price)) {
            // No price up to the next one that moves a trigger asks them again.
            let passed = merged.iter().filter_map(|group| stays_up_to(&self.groups[group]));
            let next = self.by_best.range(rank..).next().map(|(&best, _)| best);
            self.moved_none = self.moved_none.max(passed.chain(next).min().unwrap_or(rank));
            return false;
        }
        self.moved_none = i64::MIN;
        merged.extend(self.by_best.get(&rank));
        let largest = merged.iter().copied().max_by_key(|group| self.groups[group].orders.len());
        let into = largest.expect("invariant: one moved");
        let mut all = self.take_group(into).orders;
        for group in merged.into_iter().filter(|&group| group != into) {
            let Group { orders, .. } = self.take_group(group);
            self.free.push(group);
            orders.iter().for_each(|&(_, handle)| tell(handle, into));
            all.extend(orders);
        }
        let nearest = nearest(self.side, price, &all).expect("invariant: a group has orders");
        self.by_best.insert(rank, into);
        self.by_nearest.insert((nearest, into));
        self.groups.insert(into, Group { best: price, nearest, orders: all });
        true
    }

    fn take_group(&mut self, group: u32) -> Group {
        let taken = self.groups.remove(&group).expect("invariant: a group is there");
        self.by_best.remove(&self.rank(taken.best));
        self.by_nearest.remove(&(taken.nearest, group));
        taken
    }

    /// Takes out the orders whose triggers an execution at this price reaches, and tells them with these.
    pub fn take_reached(&mut self, price: Price, mut tell: impl FnMut(u32, Trigger)) {
        while let Some(&(trigger, group)) = self.by_nearest.first()
            && trigger.is_reached_by(price)
        {
            let Group { best, ref orders, .. } = self.groups[&group];
            let (code, handle) = first(self.side, best, orders).expect("invariant: a group has orders");
            let trail = Trail::from_code(code).expect("invariant: the number of a distance");
            tell(handle, trigger);
            self.remove(handle, trail, group);
        }
    }

    /// Visits the orders and their triggers, in no order that means anything.
    pub fn visit(&self, visit: &mut impl FnMut(u32, Trigger)) {
        for Group { best, orders, .. } in self.groups.values() {
            for &(code, handle) in orders {
                let trail = Trail::from_code(code).expect("invariant: the number of a distance");
                visit(handle, behind(self.side, *best, trail));
            }
        }
    }

    /// The rank of a best price: the price that orders follow goes towards higher ranks.
    fn rank(&self, best: Price) -> i64 {
        match self.side {
            Side::Sell => best.units(),
            Side::Buy => best.units().saturating_neg(),
        }
    }
}

/// The trigger of an order. Its distance had one when it was placed, and the price came nearer since.
fn behind(side: Side, best: Price, trail: Trail) -> Trigger {
    trail.trigger(side, best).expect("invariant: an order that follows has a trigger")
}

/// The order with the nearest trigger: the least distance in dollars, or the least part of the price.
fn first(side: Side, best: Price, orders: &BTreeSet<(i64, u32)>) -> Option<(i64, u32)> {
    let dollars = orders.range((0, 0)..).next();
    let bips = orders.range(..(0, 0)).next_back();
    let trigger = |&&(code, _): &&(i64, u32)| Trail::from_code(code).map(|trail| behind(side, best, trail));
    dollars.into_iter().chain(bips).min_by_key(trigger).copied()
}

fn nearest(side: Side, best: Price, orders: &BTreeSet<(i64, u32)>) -> Option<Trigger> {
    let (code, _) = first(side, best, orders)?;
    Trail::from_code(code).map(|trail| behind(side, best, trail))
}

/// Whether a price that passes the best one of a group moves a trigger. Parts of a unit are rounded, so a small step
/// may move none.
fn moves(side: Side, group: &Group, price: Price) -> bool {
    let moved = |code: i64| Trail::from_code(code).is_some_and(|trail| trail.moves_between(side, group.best, price));
    // Distances in dollars, which always move, stand last.
    let last = group.orders.last().is_some_and(|&(code, _)| moved(code));
    last || group.orders.iter().any(|&(code, _)| moved(code))
}

/// The highest price at which all triggers of a group stay, of sells: those of buys never do.
fn stays_up_to(group: &Group) -> Option<i64> {
    let trails = group.orders.iter().filter_map(|&(code, _)| Trail::from_code(code));
    trails.map(|trail| trail.stays_up_to(group.best).units()).min()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn price(units: i64) -> Price {
        Price::from_units(units).unwrap()
    }

    /// A simple stand-in: each order's group, distance and trigger, moved one by one.
    type Naive = BTreeMap<u32, (u32, Trail, Trigger)>;

    fn check(following: &Following, naive: &Naive) {
        let mut visited = BTreeMap::new();
        following.visit(&mut |handle, trigger| assert_eq!(visited.insert(handle, trigger), None));
        assert_eq!((visited.len(), following.is_empty()), (following.len(), naive.is_empty()));
        assert!(visited.iter().eq(naive.iter().map(|(handle, (.., trigger))| (handle, trigger))));
        for &(group, trail, trigger) in naive.values() {
            assert_eq!(following.trigger(trail, group), trigger);
        }
        assert_eq!(following.nearest(), naive.values().map(|&(.., trigger)| trigger).min());
    }

    /// Orders that a small step does not move were asked by each further step.
    #[test]
    fn the_next_price_that_moves_a_trigger_is_known_once_one_has_moved_none() {
        let mut following = Following::new(Side::Sell);
        for (handle, bips, best) in [(0, 9_999, 20_000), (1, 9_990, 20_000), (2, 9_000, 20_700)] {
            following.insert(handle, Trail::by_bips(bips).unwrap(), price(best));
        }
        assert!(!following.follow(price(20_001), |_, _| ()));
        assert_eq!(following.moves_behind(), Some(price(20_700)), "the next group is passed there");
        assert!(!following.follow(price(20_701), |_, _| ()));
        assert_eq!(following.moves_behind(), Some(price(20_709)), "a tenth of ten more is one");
        assert!(following.follow(price(20_710), |_, _| ()));
        assert_eq!(following.moves_behind(), Some(price(20_710)));
    }

    /// A new high looks at groups and not at orders: were each order told of each new high, a turn of 10,000 executions
    /// beside a thousand of them would come to ten million.
    #[test]
    fn an_order_changes_its_group_a_few_times_however_often_the_market_makes_a_new_high() {
        const ORDERS: u32 = 1_024;
        let (mut following, mut told) = (Following::new(Side::Sell), 0usize);
        // Pairs of groups of one size merge, which has the most orders change their group.
        for handle in 0..ORDERS {
            following.insert(handle, Trail::by(price(1)), price(1_000_000 + 2 * i64::from(handle)));
        }
        let groups = |following: &Following| following.groups.len();
        for high in 0..2 * i64::from(ORDERS) {
            following.follow(price(1_000_000 + high + 1), |_, _| told += 1);
        }
        assert_eq!((groups(&following), told), (1, ORDERS as usize - 1), "each new one joins the large group");
        let mut next = ORDERS;
        for round in 1..=10i64 {
            for _ in 0..ORDERS / 10 {
                following.insert(next, Trail::by(price(1)), price(2_000_000 * round + i64::from(next)));
                next += 1;
            }
            following.follow(price(3_000_000 * round), |_, _| told += 1);
        }
        let most = (next as usize).saturating_mul(next.ilog2() as usize + 1);
        assert!(told < most, "{told} of {next} orders");
        let before = told;
        for high in 0..10_000 {
            assert!(following.follow(price(40_000_000 + high), |_, _| told += 1));
        }
        assert_eq!((told, groups(&following)), (before, 1), "new highs move one group and tell no order");
    }

    #[test]
    fn orders_in_groups_stand_where_orders_stand_that_move_one_by_one() {
        for side in [Side::Buy, Side::Sell] {
            let (mut following, mut naive, mut drawn) = (Following::new(side), Naive::new(), 7u64);
            let mut draw = |below: u64| {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (drawn >> 33) % below
            };
            let mut met = [0; 4];
            for handle in 0..4_000 {
                let at = price(5_000 + draw(100) as i64);
                let step = draw(10);
                if step < 5 {
                    let dollars = Trail::by(price(1 + draw(30) as i64));
                    let trail = Trail::by_bips(1 + draw(60) as u16 * 30).filter(|_| draw(2) == 0).unwrap_or(dollars);
                    let group = following.insert(handle, trail, at);
                    naive.insert(handle, (group, trail, trail.trigger(side, at).unwrap()));
                } else if step == 5
                    && let Some((&gone, &(group, trail, _))) = naive.first_key_value()
                {
                    naive.remove(&gone);
                    following.remove(gone, trail, group);
                } else if step < 9 {
                    let mut has_moved = false;
                    for (_, trail, trigger) in naive.values_mut() {
                        let to = trail.moved(side, *trigger, at);
                        has_moved |= to.is_some();
                        *trigger = to.unwrap_or(*trigger);
                    }
                    let told = following.follow(at, |handle, group| naive.get_mut(&handle).unwrap().0 = group);
                    assert_eq!(told, has_moved);
                    let behind = following.moves_behind();
                    let stays = |(_, trail, trigger): &(u32, Trail, Trigger)| {
                        trail.moved(side, *trigger, behind.unwrap()).is_none()
                    };
                    assert!(naive.values().all(stays), "no trigger moves before {behind:?}");
                    met[usize::from(told)] += 1;
                } else {
                    let to = if side == Side::Buy { at.units() + 60 } else { at.units() - 60 };
                    let mut reached = Vec::new();
                    following.take_reached(price(to), |handle, trigger| {
                        assert_eq!(naive.remove(&handle).map(|(.., trigger)| trigger), Some(trigger));
                        reached.push(trigger);
                    });
                    assert!(
                        reached.is_sorted() && naive.values().all(|(.., trigger)| !trigger.is_reached_by(price(to)))
                    );
                    met[2 + usize::from(reached.len() > 1)] += 1;
                }
                check(&following, &naive);
            }
            assert!(met.iter().all(|&times| times > 20), "{met:?}");
        }
    }
}
