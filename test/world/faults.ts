import type { Chance } from "./surroundings/chance.ts";
import { wrongBy } from "./surroundings/clocks.ts";
import type { DiskMode } from "./surroundings/disk.ts";
import type { ServiceMode } from "./surroundings/service-mode.ts";
import type { Owner } from "./surroundings/time.ts";
import type { World } from "./world.ts";

const services: Readonly<Record<Exclude<ServiceMode, "ok">, number>> = {
  unreachable: 3,
  hanging: 2,
  slow: 3,
  losing: 3,
  failing: 2,
  limiting: 1,
  refusing: 5,
};
const disks: Readonly<Record<Exclude<DiskMode, "ok">, number>> = { full: 3, locked: 1, failing: 3 };
const faults = {
  service: 5,
  disk: 4,
  slowDisk: 2,
  crash: 5,
  trap: 4,
  thread: 2,
  restart: 2,
  stall: 2,
  stop: 4,
};

/** Plans what goes wrong in a world. */
export function planFaults(world: World, chance: Chance): void {
  const { store, options, lengthMs, isLong } = world.setup;
  const isDurable = store === "sqlite";
  const mayCrash = isDurable || options.ack === "handled";
  for (let left = chance.below(9); left > 0; left--) {
    const fault = chance.weighed(faults);
    const needsDisk = fault === "disk" || fault === "slowDisk" || fault === "thread";
    if ((needsDisk || fault === "trap") && !isDurable) continue;
    if ((fault === "crash" || fault === "restart") && !mayCrash) continue;
    const begin = makers[fault](world, chance);
    world.time.in(chance.below(lengthMs), begin);
  }
  if (isLong) {
    const longMs = chance.one([200_000, 400_000, 4_000_000]);
    const mode = chance.weighed(services);
    world.time.in(chance.below(lengthMs), () => serviceFault(world, mode, longMs));
  }
}

/** Plans when clocks are set to a wrong time, and right again: of one process or of all. */
export function planClocks(world: World, chance: Chance): void {
  const { hasWrongClocks, lengthMs } = world.setup;
  if (!hasWrongClocks) return;
  for (let left = chance.between(1, 5); left > 0; left--) {
    const ms = wrongBy(chance);
    const lasts = chance.yes(50) ? chance.below(3_000) : chance.below(lengthMs);
    const ofAll = chance.yes(50);
    world.time.in(chance.below(lengthMs), () => {
      const some = ofAll ? [...world.apps] : world.apps.slice(0, 1);
      for (const app of some) app.setClock(ms);
      world.time.in(lasts, () => {
        for (const app of some) app.setClock(0);
      });
    });
  }
}

type Maker = (world: World, chance: Chance) => () => void;

const makers: Readonly<Record<keyof typeof faults, Maker>> = {
  service(world, chance) {
    const mode = chance.weighed(services);
    const ms = chance.between(200, 20_000);
    return () => serviceFault(world, mode, ms);
  },
  disk(world, chance) {
    const mode = chance.weighed(disks);
    const ms = chance.between(50, 15_000);
    return () => {
      world.disk.mode = mode;
      world.lasting(`disk ${mode}`, ms, () => {
        world.disk.mode = "ok";
      });
    };
  },
  slowDisk(world, chance) {
    const slowMs = chance.one([20, 300, 2_000, 6_000]);
    const ms = chance.between(500, 15_000);
    return () => {
      world.disk.slowMs = slowMs;
      world.lasting(`disk slow by ${slowMs} ms`, ms, () => {
        world.disk.slowMs = 0;
      });
    };
  },
  /** At any await: after so many happenings, and after so many promises of the last of them. */
  crash(world, chance) {
    let happenings = chance.below(20);
    const promises = chance.below(40);
    const [power, downMs] = downOf(world, chance);
    return () => {
      world.time.before = () => {
        if (--happenings > 0) return;
        world.time.before = null;
        void after(promises).then(() => world.crash(world.anApp(chance), power, downMs));
      };
    };
  },
  trap: (world, chance) => trapOf(world, chance, 80),
  thread(world, chance) {
    const error = chance.yes(50) ? new Error("Out of memory") : null;
    return () => world.loseThread(world.anApp(chance), error);
  },
  restart(world, chance) {
    const downMs = chance.below(3_000);
    return () => world.restart(world.anApp(chance), downMs);
  },
  stall(world, chance) {
    const ms = chance.between(10, 400);
    return () => world.time.stall(ms);
  },
  stop(world, chance) {
    const ms = chance.between(3_000, 15_000);
    return () => world.stop(world.anApp(chance), ms);
  },
};

/** At any of the next calls of the disk: the process ends, or the thread alone. */
export function trapOf(world: World, chance: Chance, most: number): () => void {
  const calls = chance.below(most);
  const when = chance.one(["before", "after"] as const);
  const threadOnly = chance.yes(30);
  const [power, downMs] = downOf(world, chance);
  const spring = (thread: Owner): void => {
    const app = world.apps.find((one) => one.has(thread)) ?? null;
    if (threadOnly) world.loseThread(app, null);
    else world.crash(app, power, downMs);
  };
  return () => {
    world.disk.trap = { calls, when, spring };
  };
}

function serviceFault(world: World, mode: ServiceMode, ms: number): void {
  world.service.mode = mode;
  world.lasting(`service ${mode}`, ms, () => {
    world.service.mode = "ok";
  });
}

function downOf({ setup }: World, chance: Chance): [power: boolean, downMs: number] {
  const power = chance.yes(30);
  return [power, setup.isLong && chance.yes(30) ? chance.below(400_000) : chance.below(4_000)];
}

async function after(promises: number): Promise<void> {
  for (let left = promises; left > 0; left--) await null;
}
