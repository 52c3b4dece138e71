/**
 * Makes a function that tells how many times as long work takes for four times the length: 16 where it goes back over
 * a text for each character.
 */
export function growth(work: (length: number) => void): (length: number) => number {
  const once = (length: number): number => {
    const began = process.cpuUsage();
    work(length);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  // The time includes other work of the process: the least of five is nearest to the work alone.
  const least = (length: number) => Math.min(...Array.from({ length: 5 }, () => once(length)));
  return (length) => {
    const short = least(length);
    return least(4 * length) / short;
  };
}
