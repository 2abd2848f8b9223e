import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CODES, type ErrorCode } from '../../../bundles/errors.ts';
import { findAirGap } from '../../harness/fleets/air-gap.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { type PartName, parts } from '../../harness/parts.ts';
import { MERGED_VARIABLE } from '../../harness/run/answer-lines.ts';
import type { RunLine } from '../../harness/run/kept-program.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { shellProgram } from '../../harness/run/shell-program.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { firstUntrue, inThisRun, type Known } from './air-gap-page/match-output.ts';
import { keepProgram } from './air-gap-page/keep-program.ts';
import { type Place, startPlace } from './air-gap-page/start-place.ts';
import { readTypedPage, type TypedBlock } from './air-gap-page/typed-page.ts';
import { writePrograms } from './air-gap-page/write-programs.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** What the page calls the folder that somebody stands in. */
const HOME = '/srv/office';
const STICKS = ['stick', 'stick-1', 'stick-2'];

/** The pages in the order in which they are typed: each how-to continues on the machines of the pages before it. */
const PAGES = [
  'air-gap.md',
  'how-to/evidence.md',
  'how-to/several-media.md',
  'how-to/encrypted-media.md',
  'how-to/images-offline.md',
  'how-to/registry-at-the-site.md',
  'how-to/clean-up.md',
  'technician.md',
];
const pages = await Promise.all(PAGES.map((name) => readFile(join(ROOT, 'docs', name), 'utf8')));
const blocks = pages.flatMap(readTypedPage);

/** What a block types beside our own programs. */
const NEEDS: readonly (readonly [RegExp, PartName])[] = [
  [/edge\.example/, 'dockerRegistry'],
  [/^skopeo /m, 'skopeo'],
  [/^cosign /m, 'cosign'],
  [/age-keygen|office\.key/, 'age'],
];
const missing = ({ script }: TypedBlock): readonly string[] =>
  NEEDS.flatMap(([pattern, name]) => (pattern.test(script) && !parts[name].present ? [name] : []));

/** A refusal that the page shows is what must happen, with its exit code; 8 is how a comparison says that something differs. */
const expectedExits = ({ script, shown }: TypedBlock): readonly number[] => {
  const refusal = shown
    .map((line) => /^fleet-\w+: ([A-Z_]+): /.exec(line)?.[1])
    .find((it) => it !== undefined);
  if (refusal !== undefined) return [CODES[refusal as ErrorCode].exit];
  return script.startsWith('fleet-export diff ') ? [8] : [0];
};

const gap = findAirGap();

describe.skipIf(!gap.present)(
  `the pages about the air gap${gap.present ? '' : `${SKIPPED}${gap.reason})`}`,
  () => {
    const known: Known = new Map();
    /** Each block goes on from the one before. */
    let broken = false;
    const cleanup = new AsyncDisposableStack();
    let folder: TemporaryDirectory;
    let places: Readonly<Record<TypedBlock['place'], Place>>;

    beforeAll(async () => {
      folder = cleanup.use(await temporaryDirectory('air-gap-page'));
      const at = (...names: readonly string[]): string => join(folder.path, ...names);
      for (const name of ['office', 'plant', ...STICKS.map((it) => join('media', it))])
        await mkdir(at(name), { recursive: true });
      await writePrograms(at('bin'));
      await symlink(ROOT, at('office', 'fleet-ferry'));
      await writeFile(at('hosts'), '127.0.0.1 localhost edge.example\n');
      const tools = (['skopeo', 'cosign', 'age'] as const).flatMap((name) => {
        const part = parts[name];
        return part.present ? [dirname(part.path)] : [];
      });
      const env = {
        PATH: [at('bin'), ...tools, process.env['PATH']].join(delimiter),
        // Compiling the same modules in each process would be most of the work.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      };
      const media = { from: at('media'), to: '/media' };
      // The office has a network, so that its programs may run outside of its mounts, in kept processes.
      const kept =
        (run: RunLine): RunLine =>
        async (cwd, words, whole) => {
          const named = words.map((word) => word.replace(/^\/media(?=\/)/, media.from));
          const outcome = await run(cwd, named, { ...whole, [MERGED_VARIABLE]: '1' });
          return { ...outcome, stdout: outcome.stdout.replaceAll(media.from, media.to) };
        };
      for (const name of ['office-bin', 'plant-bin']) await mkdir(at(name));
      for (const [name, run] of [
        ['fleet-scheduler', runScheduler],
        ['fleet-export', runExporter],
      ] as const)
        cleanup.use(await shellProgram(at('office-bin'), name, kept(run), { ...env, HOME: at('office') }));
      const atOffice = { ...env, PATH: [at('office-bin'), env.PATH].join(delimiter) };
      places = {
        office: cleanup.use(
          await startPlace({ home: at('office'), mounts: [media], network: true, env: atOffice }),
        ),
        plant: cleanup.use(
          await startPlace({
            home: at('plant'),
            mounts: [media, { from: at('hosts'), to: '/etc/hosts' }],
            network: false,
            env: {
              ...env,
              PATH: [at('plant-bin'), env.PATH].join(delimiter),
              // As the page says for a desk; each block has a shell of its own here, which forgets what was exported.
              FLEET_AGENT_CONFIG: at('plant', 'agent.yaml'),
              // The registry inside the gap has no certificate.
              FLEET_EXPORT_PLAIN_HTTP: 'edge.example:5000',
              FLEET_AGENT_PLAIN_HTTP: 'edge.example:5000',
            },
          }),
        ),
      };
      const agent = cleanup.use(keepProgram(places.plant, 'test/harness/run/agent-lines.ts'));
      cleanup.use(await shellProgram(at('plant-bin'), 'fleet-agent', agent, places.plant.env));
      if (parts.dockerRegistry.present) await serveRegistry(parts.dockerRegistry.path, at('registry'));
    });

    afterAll(() => cleanup.disposeAsync());

    /** In a window of its own, until the page ends or somebody presses Ctrl-C. */
    const leaveRunning = async (
      place: Place,
      script: string,
      isReady: (said: string) => boolean,
    ): Promise<() => Promise<void>> => {
      const server = spawn('setpriv', ['--pdeathsig=KILL', ...place.words(`exec ${script}`)], {
        stdio: ['ignore', 'pipe', 'pipe'],
        // The program itself, which a signal ends.
        env: { ...place.env, PATH: [join(folder.path, 'bin'), place.env['PATH']].join(delimiter) },
      });
      const ended = once(server, 'exit');
      const stopBy = async (signal: NodeJS.Signals): Promise<void> => {
        server.kill(signal);
        await ended;
      };
      cleanup.defer(() => stopBy('SIGKILL'));
      let said = '';
      server.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString('utf8');
      });
      await vi.waitFor(() => expect(isReady(said), said).toBe(true), { timeout: 120_000, interval: 50 });
      return () => stopBy('SIGINT');
    };

    const serveRegistry = async (program: string, storage: string): Promise<void> => {
      const settings = {
        version: 0.1,
        log: { level: 'info', accesslog: { disabled: true } },
        storage: { filesystem: { rootdirectory: storage }, delete: { enabled: true } },
        http: { addr: '127.0.0.1:5000' },
      };
      const file = join(folder.path, 'registry.yml');
      await writeFile(file, JSON.stringify(settings));
      await leaveRunning(places.plant, `'${program}' serve '${file}'`, (said) =>
        said.includes('listening on'),
      );
    };

    blocks.forEach((block, index) => {
      const lacks = missing(block);
      const title = `runs and prints what it shows: block ${index + 1}, ${block.heading}`;
      const skipped = lacks.length === 0 ? '' : `${SKIPPED}${lacks.join(', ')} not here)`;
      it.skipIf(lacks.length > 0)(`${title}${skipped}`, async ({ skip }) => {
        skip(broken, 'a block before it is not true');
        broken = true;
        const script = inThisRun(block.script, known);
        const place = places[block.place];
        if (/^fleet-(?:export serve|agent run) (?!--once)/.test(script)) {
          const isShown = (said: string): boolean => firstUntrue(block.shown, said, known) === undefined;
          const stop = await leaveRunning(place, script, isShown);
          // Others need the agent's state.
          if (script.startsWith('fleet-agent ')) await stop();
          broken = false;
          return;
        }
        const { code, stdout: typed } = await place.type(script);
        const stdout = typed.replaceAll(place.env['HOME'] ?? '', HOME);
        const expected = expectedExits(block);
        expect({ code, said: expected.includes(code) ? '' : stdout }).toEqual({
          code: expected[0],
          said: '',
        });
        const untrue = firstUntrue(block.shown, stdout, known);
        expect(untrue, `is on the page, and what came out is\n${stdout}`).toBeUndefined();
        broken = false;
      });
    });

    it('shows the output of every step that someone acts on, and runs all commands of the card', () => {
      expect(blocks.length).toBeGreaterThan(30);
      expect(blocks.filter(({ shown }) => shown.length > 0).length).toBeGreaterThan(25);
      const card = /^## The technician[\s\S]*?(?=^## )/m.exec(pages.at(-1) ?? '')?.[0] ?? '';
      const commands = [...card.matchAll(/`(fleet-agent [^`]+)`/g)].map(([, command = '']) => command);
      expect(commands).toHaveLength(4);
      const typed = blocks.filter(({ place }) => place === 'plant').map(({ script }) => script);
      for (const command of commands) {
        const pattern = command
          .split('____')
          .map((it) => RegExp.escape(it))
          .join('\\S+');
        expect(
          typed.some((script) => new RegExp(`^${pattern}$`, 'm').test(script)),
          command,
        ).toBe(true);
      }
    });
  },
);
