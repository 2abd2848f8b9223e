import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import { COMMANDS as AGENT } from '../../../../agent/commands.ts';
import { loadCommands } from '../../../../cli/commands.ts';
import { FleetCommand } from '../../../../cli/fleet-command.ts';
import { COMMANDS as EXPORTER } from '../../../../exporter/commands.ts';
import { COMMANDS as SCHEDULER } from '../../../../scheduler/commands.ts';
import { acceptRequests } from '../../../harness/fleets/accept-requests.ts';
import { startRegistry } from '../../../harness/neighbours/registry.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { runAgent } from '../../../harness/run/run-agent.ts';
import { type Outcome, succeed } from '../../../harness/run/run-command.ts';
import { runExporter } from '../../../harness/run/run-exporter.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { newWorld, NOW, writeKeys } from '../../../scheduler/keys/signer/signer-world.ts';
import { LOCAL_VALUE, NAMES, PACKAGE, writePlatform } from './long-names.ts';

const { before, environment, clusterType, site, agent, fleet } = NAMES;
const CHANNEL = `${before}/${clusterType}`;
const WIDTH = 80;

const PROGRAMS = { scheduler: SCHEDULER, exporter: EXPORTER, agent: AGENT } as const;
type Program = keyof typeof PROGRAMS;
const RUN = { scheduler: runScheduler, exporter: runExporter, agent: runAgent } as const;

/** Commands that print tables: their code, or that of a class above them, calls print. */
const printingCommands = async (): Promise<readonly string[]> => {
  const found = [];
  for (const [program, commands] of Object.entries(PROGRAMS))
    for (const [id, command] of Object.entries(await loadCommands(commands))) {
      let code = '';
      for (
        let one: unknown = command;
        typeof one === 'function' && one !== FleetCommand;
        one = Object.getPrototypeOf(one)
      )
        code += String(one);
      if (code.includes('this.print(')) found.push(`${program} ${id}`);
    }
  return found;
};

describeWith(['dockerRegistry'], 'tables on a terminal of 80 columns', ({ dockerRegistry }) => {
  let folder: TemporaryDirectory;
  let registry: Awaited<ReturnType<typeof startRegistry>>;
  const at = (...names: readonly string[]): string => join(folder.path, ...names);
  const covered = new Set<string>();

  /** Runs a command as on a terminal of this width, or in a pipe. */
  const run = (program: Program, words: readonly string[], width?: number): Promise<Outcome> => {
    const { COLUMNS: _, ...env } = process.env;
    const own = program === 'agent' ? [...words, '--config', at('agent.yaml')] : words;
    return RUN[program](folder.path, own, width === undefined ? env : { ...env, COLUMNS: String(width) });
  };

  const idOf = (program: Program, words: readonly string[]): string => {
    const ids = Object.keys(PROGRAMS[program]);
    for (let count = words.length; count > 0; count -= 1) {
      const id = words.slice(0, count).join(':');
      if (ids.includes(id)) return id;
    }
    throw new Error(`no command: ${words.join(' ')}`);
  };

  const expectFits = ({ stdout, stderr }: Outcome, words: readonly string[]): void => {
    expect(stdout, `${words.join(' ')}: ${stderr}`).toMatch(/\S/);
    const long = stdout.split('\n').filter((line) => line.length > WIDTH && !isSentence(line));
    expect(long, words.join(' ')).toEqual([]);
  };

  /** Runs a command that changes something. */
  const changes = async (program: Program, ...words: readonly string[]): Promise<void> => {
    const outcome = await run(program, words, WIDTH);
    expectFits(outcome, words);
    covered.add(`${program} ${idOf(program, words)}`);
  };

  /** Runs a command that only reads: it also prints every letter that it prints into a pipe. */
  const reads = async (program: Program, ...words: readonly string[]): Promise<void> => {
    const [narrow, wide] = [await run(program, words, WIDTH), await run(program, words)];
    expectFits(narrow, words);
    expect(letters(narrow), words.join(' ')).toBe(letters(wide));
    covered.add(`${program} ${idOf(program, words)}`);
  };

  const office = async (...words: readonly string[]): Promise<Outcome> =>
    succeed(await run('scheduler', words));

  beforeAll(async () => {
    folder = await temporaryDirectory('tables');
    registry = await startRegistry(dockerRegistry);
    await writePlatform(folder.path, 1);
    for (const name of ['host', 'stick']) await mkdir(at(name));
    await writeFile(at('agent.yaml'), `state: ${at('state')}\nroot: ${at('host')}\nservices: none\n`);
    await writeFile(
      at('fleet-scheduler.yaml'),
      `platform: platform\nkeys: ${at('keys')}\nlayout: ${at('releases')}\ndb: ${at('hub.db')}\ncache: ${at('cache')}\n`,
    );
    await office('root', 'init', '--dev', '--fleet', fleet);
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const carry = async (): Promise<void> => {
    succeed(await run('exporter', ['create', '--from', at('releases'), '--site', site, '--to', at('stick')]));
  };

  it('fit, and nothing in them is lost: building, enrolling and the site', async () => {
    await changes('scheduler', 'build');
    const root = createHash('sha256')
      .update(await readFile(at('keys', '1.root.json')))
      .digest('hex');
    const words = [
      '--fleet',
      fleet,
      '--site',
      site,
      '--name',
      agent,
      '--channel',
      CHANNEL,
      '--label',
      'ring=pilot',
    ];
    succeed(await run('agent', ['enroll', at('stick'), ...words, '--root-sha256', root]));
    await office('sites', 'enroll', at('stick'), ...(await acceptRequests(at('stick'))));
    await office(
      'sites',
      'set',
      site,
      '--allow-unknown',
      'nameOfTheLineThatTheLabelsOfTheNorthernRegionAreFor="line 7"',
    );
    const open = ['--from', at('releases'), '--site', site];
    await reads('exporter', 'plan', ...open, '--to', at('stick'));
    await carry();
    await reads('exporter', 'inspect', at('stick'));
    await reads('agent', 'import', at('stick'), '--plan');
    await changes('agent', 'import', at('stick'));
    await reads('agent', 'status');
    await reads('agent', 'history');
    await reads('agent', 'doctor');
    const why = ['--reason', 'the line beside it is being rebuilt until the spring', '--person', 'mara'];
    await changes('agent', 'values', 'set', `${LOCAL_VALUE}=8`, ...why);
    await reads('agent', 'values');
    await changes('agent', 'retry', PACKAGE);
    await writeFile(at('host', 'etc', NAMES.workload, 'labels.conf'), 'changed by hand');
    await reads('agent', 'diff');
    await changes('agent', 'run', '--once');
    await writeFile(at('host', 'broken'), '');
    await changes('agent', 'run', '--once');
    await reads('agent', 'status');
    await rm(at('host', 'broken'));
    await changes('agent', 'run', '--once');
    await changes('agent', 'prune');
    succeed(await run('agent', ['reports', 'export', at('stick')]));
    await reads('exporter', 'reports', at('stick'));
    await office('reports', 'import', at('stick'));
    await reads('scheduler', 'sites', 'values', 'local');
    await changes('agent', 'values', 'unset', LOCAL_VALUE, ...why);
    await changes('exporter', 'clean', at('stick'), '--dry-run', '--from', at('releases'));
  });

  it('fit, and nothing in them is lost: the office', async () => {
    await reads('scheduler', 'promote', environment, '--explain');
    await office('promote', environment, '--person', 'mara', '--reason', 'the labels were looked at');
    await office('build');
    await writePlatform(folder.path, 2);
    await changes('scheduler', 'build');
    await carry();
    await changes('agent', 'import', at('stick'));
    await changes(
      'agent',
      'rollback',
      PACKAGE,
      '--reason',
      'the labels of the northern region are printed upside down',
    );
    await writePlatform(folder.path, 3);
    // The files of the directory that was promoted have changed, so production stands still.
    expect((await run('scheduler', ['build'])).code).toBe(8);
    const person = [
      '--reason',
      'a reason that says at length why somebody on the night shift did this',
      '--person',
      'mara',
    ];
    await office(
      'tokens',
      'create',
      '--site',
      site,
      '--agent',
      `${agent}-new`.slice(0, 63),
      '--note',
      'for the machine that replaces the old one',
    );
    await office('media', 'record', at('stick'));
    await office('lease', 'renew', '--channel', CHANNEL);
    await office('support', 'request', site, ...person);
    await reads('scheduler', 'releases', 'list');
    await changes('scheduler', 'releases', 'renew');
    await reads('scheduler', 'lease', 'list');
    await changes('scheduler', 'lease', 'renew');
    await reads('scheduler', 'sites', 'list');
    await reads('scheduler', 'tokens', 'list');
    await reads('scheduler', 'sessions', 'list');
    await reads('scheduler', 'secrets', 'list');
    await reads('scheduler', 'media', 'list');
    await reads('scheduler', 'support', 'list');
    await reads('scheduler', 'audit', 'list');
    await reads('scheduler', 'status');
    await reads('scheduler', 'status', '--wide');
    await reads('scheduler', 'where', NAMES.workload);
    await reads('scheduler', 'history', site);
    await reads('scheduler', 'events', site);
    await reads('scheduler', 'compare', before, environment);
    await reads('scheduler', 'explain', '--environment', before);
    await reads('scheduler', 'promote', environment, '--explain');
    await reads('scheduler', 'rollout', 'status');
    await reads('scheduler', 'rollout', 'simulate', '--channel', CHANNEL);
    const to = `oci://${registry.host}/the/fleet`;
    const http = ['--plain-http', registry.host];
    await changes('scheduler', 'publish', to, ...http);
    await reads('scheduler', 'gc', to, '--older-than', '0d', '--keep', '1', ...http);
    await changes('exporter', 'push', at('stick'), '--to', `oci://${registry.host}/site`, ...http);
    await reads('exporter', 'prune', `oci://${registry.host}/site`, '--keep', '1', ...http);
  });

  it('fit, and nothing in them is lost: approvals', async () => {
    const home = at('approvals');
    await writePlatform(home, 1);
    await writeKeys(await newWorld(2), join(home, 'keys'), ['bundle', 'release']);
    const words = [
      '--keys',
      join(home, 'keys'),
      '--layout',
      join(home, 'releases'),
      '--now',
      formatTime(NOW),
    ];
    await changes('scheduler', 'build', '--platform', join(home, 'platform'), ...words);
    await reads('scheduler', 'approvals', ...words);
    await changes('scheduler', 'approvals', 'export', CHANNEL, '--out', join(home, 'out'), ...words);
  });

  it('fit, and nothing in them is lost: the check of a configuration of the hub', async () => {
    await reads('scheduler', 'serve', '--check', '--config', at('fleet-scheduler.yaml'));
  });

  it('fit, and nothing in them is lost: the setup of a configuration of the hub', async () => {
    await cp(at('fleet-scheduler.yaml'), at('setup.yaml'));
    const answers = ['--set', 'hostnames=localhost', '--set', 'listen=127.0.0.1:0'];
    await changes('scheduler', 'setup', 'hub', '--config', at('setup.yaml'), ...answers);
  });

  it('were all tried', async () => {
    const missing = (await printingCommands()).filter((name) => !covered.has(name));
    expect(missing).toEqual([]);
  });
});

/** Room on the disk differs from one run to the next, because other programs write there. */
const withoutRoom = (text: string): string => text.replaceAll(/\d+ MiB free/g, '');

const letters = ({ stdout }: Outcome): string =>
  Array.from(withoutRoom(stdout).replaceAll(/\s/g, '')).toSorted().join('');

/** A sentence between tables is for the terminal to break, since a person may copy a command out of it. */
const isSentence = (line: string): boolean =>
  !/ {2}\S/.test(line.trimStart()) && /\.$|(?:cosign|fleet-[a-z]+) /.test(line);
