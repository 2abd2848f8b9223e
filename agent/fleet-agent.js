#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    'fleet-agent: NODE_TOO_OLD: Node ' +
      process.version +
      ' runs this, but 24 or newer is needed. Start it with "npx fleet-agent" in the checkout, which brings its own.\n',
  );
  process.exitCode = 2;
} else {
  // oclif would look at the version again, with a library that takes longer to load than all that it says.
  process.env.OCLIF_DISABLE_ENGINE_WARNING ??= '1';
  if (process.argv[2] === 'run' && !process.argv.includes('--once')) {
    // The daemon starts once, stays and is idle nearly always, so memory matters more than speed; its work is bound by disks, networks and API
    // servers. Other commands, and `run --once`, keep V8's defaults. Set first, because V8 does not release memory that modules evaluated earlier
    // have taken. The figures are MiB saved on a connected host.
    const flags = [
      // The heap grows in smaller steps: 6.
      '--optimize-for-size',
      // The compilers' own code is not paged in, and no optimised code is kept: 6 and, with 1,000 objects, 4. Applying those objects
      // takes the same CPU time with and without.
      '--no-opt',
      '--no-maglev',
      '--no-sparkplug',
      // The HTTP parser is WebAssembly. Optimising it after some requests costs 42 for a moment and 4 permanently. Both flags are needed.
      '--no-wasm-tier-up',
      '--no-wasm-dynamic-tiering',
      // Code that was not run since the last collection is dropped, instead of after six of them.
      '--bytecode-old-age=1',
    ];
    process.getBuiltinModule('node:v8').setFlagsFromString(flags.join(' '));
  } else {
    await import('#cli/keep-compiled');
  }
  await import('./main.ts');
}
