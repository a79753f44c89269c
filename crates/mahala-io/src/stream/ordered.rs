//! Work done by all threads, and taken in order.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;

/// Blocks under way for each thread: enough that none waits while this one reads or merges.
const EACH: usize = 3;

/// Reads blocks one after the other, works on them in parallel, and takes the results in the order of the blocks.
/// At most [`EACH`] blocks a thread are under way. A panic of `work` becomes one of this thread.
pub(crate) fn run<B: Send, R: Send, E>(
    mut read: impl FnMut() -> Result<Option<B>, E>,
    work: impl Fn(B) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let most = EACH * rayon::current_num_threads();
    let work = &work;
    rayon::in_place_scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut early = BTreeMap::new();
        let (mut started, mut taken, mut ended) = (0usize, 0usize, false);
        loop {
            while !ended && started - taken < most {
                let Some(block) = read()? else {
                    ended = true;
                    break;
                };
                let (sender, index) = (sender.clone(), started);
                scope.spawn(move |_| {
                    // What a thread panicked with goes the same way, or its result would be waited for without end.
                    let result = catch_unwind(AssertUnwindSafe(|| work(block)));
                    // Nobody receives after an error, and nobody needs to.
                    let _ = sender.send((index, result));
                });
                started += 1;
                early.extend(receiver.try_iter());
                while let Some(result) = early.remove(&taken) {
                    taken += 1;
                    take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
                }
            }
            if taken == started {
                return Ok(());
            }
            while let Some(result) = early.remove(&taken) {
                taken += 1;
                take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
            }
            if taken < started
                && let Ok((index, result)) = receiver.recv()
            {
                early.insert(index, result);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn results_come_in_the_order_of_the_blocks_and_few_are_under_way() {
        let (mut next, mut seen) = (0u64, Vec::new());
        let slow = |x: u64| {
            // Earlier blocks take longer.
            std::thread::sleep(std::time::Duration::from_micros(50 * (20 - x.min(20))));
            x
        };
        let read = || {
            next += 1;
            Ok::<_, ()>((next <= 100).then_some(next))
        };
        let take = |x| {
            seen.push(x);
            Ok(())
        };
        run(read, slow, take).expect("no error");
        assert_eq!(seen, (1..=100).collect::<Vec<u64>>());
    }

    #[test]
    fn a_panic_on_another_thread_ends_the_work_rather_than_to_be_waited_for() {
        let mut next = 0;
        let read = || {
            next += 1;
            Ok::<_, ()>((next <= 40).then_some(next))
        };
        let work = |x: i32| if x == 7 { std::panic::resume_unwind(Box::new("seven")) } else { x };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(read, work, |_| Ok(()))));
        let told = ended.expect_err("a panic").downcast::<&str>().expect("a text");
        assert_eq!(*told, "seven");
    }

    #[test]
    fn the_first_error_in_the_order_of_the_file_is_the_one_told() {
        let mut next = 0;
        let read = || {
            next += 1;
            Ok(Some(next))
        };
        let outcome = run(read, |x: i32| x, |x| if x < 7 { Ok(()) } else { Err(x) });
        assert_eq!(outcome, Err(7));
        assert_eq!(run(|| Err("broken"), |x: i32| x, |_| Ok(())), Err("broken"));
    }
}
