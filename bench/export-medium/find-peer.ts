import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '../../bundles/errors.ts';
import { goModule } from '../../test/harness/parts/go-module.ts';
import { thisMachine } from '../../test/harness/parts.ts';
import { runOrFail } from '../../test/harness/run/run-command.ts';

/** Other exporters, in versions that the Go module proxy has. */
const PEERS = {
  imgpkg: {
    module: 'carvel.dev/imgpkg@v0.46.1',
    main: './cmd/imgpkg',
    takes: 'seven minutes on a busy machine',
  },
  zarf: { module: 'github.com/zarf-dev/zarf@v0.60.0', main: '.', takes: 'longer than imgpkg' },
} as const;

/**
 * The program at FLEET_IMGPKG or FLEET_ZARF, or one built into the cache once; undefined, with the reason, if there is none. Says before it compiles
 * how long that takes, and how to do without.
 */
export const findPeer = async (
  name: keyof typeof PEERS,
  say: (text: string) => void,
): Promise<string | undefined> => {
  const machine = thisMachine();
  const given = machine.env[`FLEET_${name.toUpperCase()}`];
  if (given !== undefined) return given === '' ? undefined : given;
  const folder = join(machine.cache, name);
  const program = join(folder, 'bin', name);
  if (existsSync(program)) return program;
  const { module, main, takes } = PEERS[name];
  const variable = `FLEET_${name.toUpperCase()}`;
  say(
    `${name}: downloading and compiling ${module} with Go into ${folder}, once (${takes}). ${variable}=<program> takes another one, and ${variable}= leaves it out.`,
  );
  const start = performance.now();
  try {
    // Built from a checkout, because `go install` refuses a go.mod with replace directives.
    const source = join(folder, 'source');
    await mkdir(join(folder, 'bin'), { recursive: true });
    await cp(await goModule(module, machine), source, { recursive: true });
    await runOrFail(['chmod', '-R', 'u+w', source]);
    const words = [
      'go',
      'build',
      '-mod=mod',
      '-trimpath',
      '-buildvcs=false',
      '-ldflags=-s -w',
      '-o',
      program,
    ];
    await runOrFail([...words, main], { cwd: source, env: { ...machine.env, CGO_ENABLED: '0' } });
    await runOrFail(['rm', '-rf', source]);
    say(`${name}: compiled in ${Math.ceil((performance.now() - start) / 1000)} s`);
    return program;
  } catch (error) {
    say(`Without ${name}: ${toFleetError(error).message.slice(0, 300)}`);
    return undefined;
  }
};
