//! The faults of an episode.

use std::time::Duration;

use model::workload::Random;
use rustix::process::Signal;

use super::log::SERVERS;
use super::node::flip;
use super::stage::NODES;
use super::world::World;

/// A fault, with nodes and servers by their numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NodeKilled(usize),
    NodePaused(usize),
    NodeCutOff(usize),
    NodeFolderLost(usize),
    NodeJournalFlipped(usize),
    NodeDiskFull,
    NodeClockJumps(usize),
    LogServerKilled(usize),
    LogServerPaused(usize),
    LogServerCutOff(usize),
    LogBlockFlipped(usize),
    LeaderKilled,
    LeaderPaused,
    LeaderCutOff,
    LeaderStepsDown,
    MajorityKilled,
    MajorityPaused,
}

impl Fault {
    fn any(random: &mut Random) -> Fault {
        let (node, server) = (random.below(NODES), random.below(SERVERS));
        let faults = [
            Fault::NodeKilled(node),
            Fault::NodePaused(node),
            Fault::NodeCutOff(node),
            Fault::NodeFolderLost(node),
            Fault::NodeJournalFlipped(node),
            Fault::NodeDiskFull,
            Fault::NodeClockJumps(node),
            Fault::LogServerKilled(server),
            Fault::LogServerPaused(server),
            Fault::LogServerCutOff(server),
            Fault::LogBlockFlipped(server),
            Fault::LeaderKilled,
            Fault::LeaderPaused,
            Fault::LeaderCutOff,
            Fault::LeaderStepsDown,
            Fault::MajorityKilled,
            Fault::MajorityPaused,
        ];
        random.pick(&faults)
    }

    /// Draws one to three faults. Where a server of the log loses its disk, no other one is disturbed: a log is
    /// replicated against one such loss.
    pub fn draw(random: &mut Random) -> Vec<Fault> {
        let mut faults: Vec<Fault> = (0..1 + random.below(3)).map(|_| Fault::any(random)).collect();
        let is_flip = |fault: &Fault| matches!(fault, Fault::LogBlockFlipped(_));
        if let Some(flip) = faults.iter().copied().find(is_flip) {
            faults.retain(|fault| !fault.is_of_the_log());
            faults.push(flip);
        }
        faults
    }

    fn is_of_the_log(self) -> bool {
        !matches!(
            self,
            Fault::NodeKilled(_)
                | Fault::NodePaused(_)
                | Fault::NodeCutOff(_)
                | Fault::NodeFolderLost(_)
                | Fault::NodeJournalFlipped(_)
                | Fault::NodeDiskFull
                | Fault::NodeClockJumps(_)
        )
    }

    /// Causes the fault. `World::heal` undoes it.
    pub fn strike(self, world: &mut World, random: &mut Random) {
        let World { nodes, log, marks, .. } = world;
        match self {
            Fault::NodeKilled(at) => nodes[at].kill(),
            Fault::NodePaused(at) => nodes[at].signal(Signal::STOP),
            Fault::NodeCutOff(at) => nodes[at].cut_off(),
            Fault::NodeFolderLost(at) => {
                nodes[at].kill();
                // Another fault may have taken it.
                let _ = std::fs::remove_dir_all(&nodes[at].data);
            }
            Fault::NodeJournalFlipped(at) => {
                let node = &mut nodes[at];
                node.kill();
                // Without room the node would be refused for that.
                let is_flipped =
                    !node.may_end && marks[at].as_ref().is_some_and(|mark| node.flip_journal(mark, random));
                if is_flipped {
                    let refused =
                        node.launch().try_start().err().expect("a node does not begin with a changed journal");
                    assert!(refused.stderr.contains("journal"), "it names the place: {refused:?}");
                    std::fs::remove_dir_all(&node.data).unwrap();
                }
            }
            Fault::NodeDiskFull => {
                for node in nodes.iter_mut().filter(|node| !node.may_end) {
                    if let Some(disk) = &node.disk {
                        disk.fill();
                        node.may_end = true;
                    }
                }
            }
            Fault::NodeClockJumps(at) => {
                nodes[at].kill();
                nodes[at].jump = random.pick(&[-86_400 * 40, -3_600, -1, 1, 3_600, 86_400 * 40]);
            }
            Fault::LogServerKilled(at) => log.kill(at),
            Fault::LogServerPaused(at) => log.signal(at, Signal::STOP),
            Fault::LogServerCutOff(at) => log.cut_off(at),
            Fault::LogBlockFlipped(at) => {
                log.kill(at);
                let blocks = log.blocks(at);
                let block = &blocks[random.below(blocks.len())];
                let bytes = std::fs::metadata(block).unwrap().len() as usize;
                if bytes > 0 {
                    flip(block, random.below(bytes), random);
                    log.flipped = Some(at);
                }
                log.restart(at);
            }
            Fault::LeaderKilled => log.leader().into_iter().for_each(|at| log.kill(at)),
            Fault::LeaderPaused => log.leader().into_iter().for_each(|at| log.signal(at, Signal::STOP)),
            Fault::LeaderCutOff => log.leader().into_iter().for_each(|at| log.cut_off(at)),
            Fault::LeaderStepsDown => log.step_down(),
            Fault::MajorityKilled => {
                let first = random.below(SERVERS);
                log.kill(first);
                log.kill((first + 1) % SERVERS);
            }
            Fault::MajorityPaused => {
                let first = random.below(SERVERS);
                log.signal(first, Signal::STOP);
                log.signal((first + 1) % SERVERS, Signal::STOP);
            }
        }
    }

    /// Draws the length of the fault.
    pub fn pause(random: &mut Random) -> Duration {
        Duration::from_millis(200 + random.below(1_800) as u64)
    }
}
