#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    'fleet-scheduler: NODE_TOO_OLD: Node ' +
      process.version +
      ' runs this, but 24 or newer is needed. Start it with "npx fleet-scheduler" in the checkout, which brings its own.\n',
  );
  process.exitCode = 2;
} else {
  // oclif would look at the version again, with a library that takes longer to load than all that it says.
  process.env.OCLIF_DISABLE_ENGINE_WARNING ??= '1';
  // V8's flags of a command, set before its modules load: that grows the young generation, and V8 takes compiled code from the cache
  // only under the flags it was compiled with.
  const build = [
    // Many more calls before a function is optimised a second time. That compiler runs on its own threads and costs more CPU time than
    // it saves in a run of a few seconds: 7 % of a build of 50,000 assignments with 30,000 calls. A run of minutes still gets there.
    '--invocation-count-for-turbofan=200000',
  ];
  const serve = [
    // The young generation keeps its first size of 1 MiB a semi-space, instead of growing to 16. This costs no CPU time.
    '--semi-space-growth-factor=1',
    // V8 runs a full collection when the heap has grown by three tenths. One report of 8 MiB leaves 20 MiB of garbage, and the default waits
    // for several such reports.
    '--heap-growing-percent=30',
  ];
  const flags = new Map(Object.entries({ build, diff: build, render: build, validate: build, serve })).get(
    process.argv[2],
  );
  if (flags) process.getBuiltinModule('node:v8').setFlagsFromString(flags.join(' '));
  await import('#cli/keep-compiled');
  await import('./main.ts');
}
