// Runs tests that depend on the machine on several kinds of machine, as far as one can show them: a clone in closed folders,
// with other users, without programs, memory folder or IPv6. Needs Linux and root. `machines.mjs NAME…` runs some of them.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const wanted = process.argv.slice(2);
const files = [
  "test/world",
  "test/inboxes/crash",
  "test/docs/tour",
  "test/guards/guard",
  "durability-check",
  "driver.test",
];
const test = `"$NODE" node_modules/vitest/vitest.mjs run ${files.join(" ")}`;
const nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
const unshared = (what, line) => ({
  needs: `unshare --${what} sh -ec '${line}'`,
  run: `exec unshare --${what} sh -ec '${line}; exec ${test}'`,
});

// A /dev of few devices and 1 MB.
const withoutDev = [
  "mount --bind /dev/pts /mnt",
  "mount -t tmpfs -o size=1M none /dev",
  "mkdir /dev/pts",
  "mount --move /mnt /dev/pts",
  "ln -s pts/ptmx /dev/ptmx",
  "mknod -m 666 /dev/tty c 5 0",
  "mknod -m 666 /dev/null c 1 3",
  "mknod -m 666 /dev/urandom c 1 9",
].join("; ");
const withoutIPv6 = "ip link set lo up; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";

/** Each with what it is run by, what it says at its end, and what must succeed for it to be made. */
const machines = {
  "a closed folder, as root": { run: `umask 077; exec ${test}` },
  "another user": { run: `exec ${nobody} ${test}`, owner: 65_534 },
  "no programs": { run: `PATH=$BARE exec ${test}`, says: /\(no redis-server here: [^)]+\)/ },
  "no memory folder": unshared("mount", withoutDev),
  "memory folder read-only": unshared("mount", "mount -t tmpfs -o ro none /dev/shm"),
  "no IPv6": unshared("net", withoutIPv6),
  "two at once": { run: `${test} & first=$!; ${test}; second=$?; wait $first && exit $second` },
};

const place = mkdtempSync(join("/tmp", "reporthook machines é-"));
const clone = join(place, "clone");
const temporary = join(place, "temporary");

function prepare() {
  execFileSync("git", ["clone", "--quiet", "--local", root, clone]);
  const install = ["--yes", "pnpm@10", "install", "--frozen-lockfile", "--prefer-offline"];
  execFileSync("npx", install, { cwd: clone, stdio: "ignore" });
  const bare = join(place, "bare");
  mkdirSync(bare);
  for (const name of ["sh", "id", "test", "env", "script", "stty", "useradd", "git"]) {
    const found = execFileSync("sh", ["-c", `command -v ${name} || true`], { encoding: "utf8" });
    const file = found.trim().startsWith("/") ? found.trim() : `/usr/bin/${name}`;
    symlinkSync(file, join(bare, name));
  }
  symlinkSync(process.execPath, join(bare, "node"));
  return bare;
}

/** The processes that still run in the clone. */
function left() {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(clone);
    } catch {
      return false;
    }
  });
}

async function on(name, { run, says = /^skipped: /m, owner = 0 }, bare) {
  const begin = performance.now();
  mkdirSync(temporary);
  chownSync(temporary, owner, owner);
  chmodSync(place, owner === 0 ? 0o700 : 0o755);
  execFileSync("chown", ["-R", `${owner}:${owner}`, clone]);
  const { CI, ...environment } = process.env;
  const child = spawn("sh", ["-c", run], {
    cwd: clone,
    env: {
      ...environment,
      TEST_LANE: "rest",
      // What happens in a world does not depend on the machine, only where its disk is: of each kind, this leaves a few.
      WORLD_SEEDS: "7",
      TMPDIR: temporary,
      NODE: process.execPath,
      BARE: bare,
      NO_COLOR: "1",
      HOME: temporary,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const code = await new Promise((done) => child.on("close", done));
  const problems = [
    ...(code === 0 ? [] : [`it ended with ${code}`]),
    ...(says.test(output) ? [] : [`it did not say ${says}`]),
    ...readdirSync(temporary).map((file) => `left in the temporary folder: ${file}`),
    ...left().map((pid) => `process ${pid} still runs`),
  ];
  rmSync(temporary, { recursive: true });
  const seconds = Math.round((performance.now() - begin) / 1_000);
  const [closing = ""] = /^skipped: .*$/m.exec(output) ?? [];
  console.log(
    `${problems.length === 0 ? "passes" : "FAILS"} on ${name} (${seconds} s); ${closing}`,
  );
  if (problems.length > 0) console.log([output.slice(-8_000), ...problems].join("\n"));
  return problems.length;
}

try {
  const bare = prepare();
  let failed = 0;
  for (const [name, machine] of Object.entries(machines)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    if (spawnSync("sh", ["-c", machine.needs ?? ""]).status === 0) {
      failed += await on(name, machine, bare);
    } else {
      console.log(`left out: ${name} can't be made here, with: ${machine.needs}`);
    }
  }
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  rmSync(place, { recursive: true, force: true });
}
