import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { outboxSize } from '../../../agent/store/outbox/outbox.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import { openState, type State } from '../../../agent/store/state.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { enrolOnceReleased } from '../office.ts';
import { type Field, seeded } from './field.ts';
import { eventsAtHub, faultsAtHub, toldTwice } from './hub-record.ts';
import type { OnlineOffice } from './online-office.ts';
import { makeProcess, type Process } from './process.ts';

export type Victim = 'agent' | 'hub' | 'publish';

export type KillOptions = {
  readonly victim: Victim;
  readonly kills: number;
  readonly seed: number;
  /** How long what was killed may take to be as desired. */
  readonly recoveryMs: number;
  readonly say?: (line: string) => void;
};

export type KillReport = {
  readonly kills: number;
  /** How often the agent was killed in which phase of an operation; 'between operations' else. */
  readonly moments: Readonly<Record<string, number>>;
  readonly changes: number;
  readonly events: number;
  /** From the start after the kill until all is as desired, in ms. */
  readonly recoveries: readonly number[];
};

const SITE = 'plant-7';
const NAME = 'press-2';
const AGENT = `${SITE}/${NAME}`;

/**
 * Kills one of the processes with SIGKILL at random moments, while releases come and somebody spoils what runs, and looks each time
 * whether all becomes as desired: what the newest release wants, nothing else, told to the hub once.
 * @throws Error with everything that is wrong
 */
export const runKills = async (
  office: OnlineOffice,
  field: Field,
  { victim, kills, seed, recoveryMs, say = () => {} }: KillOptions,
): Promise<KillReport> => {
  const random = seeded(seed);
  const state = join(office.folder, 'agent-state');
  const env = { ...process.env, ...agentEnv(office, state), ...field.env };
  await using agent = makeProcess([process.execPath, programFile('agent'), 'run'], {
    cwd: office.folder,
    env,
    ready: '"msg":"started"',
  });
  await enrol(office, field, env);
  let changes = 1;
  await field.change(changes, true);
  if (victim === 'publish') await office.release();
  await agent.start();
  await converged(office, field, state, { agent, recoveryMs: 120_000 });

  const moments: Record<string, number> = {};
  const recoveries: number[] = [];
  for (let kill = 1; kill <= kills; kill++) {
    const calm = new AbortController();
    const load = keepBusy(calm.signal, random, field, () => ++changes);
    // Some of the kills meet a process that has only just begun to recover from the last one.
    const soon = random() < 0.25;
    if (soon && victim === 'agent') {
      await agent.end('SIGKILL');
      await agent.start();
    }
    const aimed = victim === 'agent' && random() < 0.5;
    try {
      await killed(office, victim, agent, { afterMs: (soon ? 1500 : 4000) * random(), aimed, state, random });
    } finally {
      calm.abort();
      await load;
    }
    const moment = victim === 'agent' ? momentOf(state) : victim;
    moments[moment] = (moments[moment] ?? 0) + 1;
    // The last change of a round is a good one: what is wanted is then beyond doubt.
    await field.change(++changes, true);
    const begin = Date.now();
    if (victim === 'agent') await agent.start();
    if (victim === 'hub') await office.hub.start();
    if (victim === 'publish') await office.release();
    await converged(office, field, state, { agent, recoveryMs });
    const took = Date.now() - begin;
    recoveries.push(took);
    say(`${String(kill).padStart(4)}  ${moment}; recovered in ${(took / 1000).toFixed(1)} s`);
  }
  const code = await agent.end('SIGTERM');
  if (code !== 0) throw new Error(`the agent ended with ${code}: ${agent.log().slice(-2000)}`);
  return { kills, moments, changes, events: eventsAtHub(office.folder, AGENT).length, recoveries };
};

export const agentEnv = (office: OnlineOffice, state: string): Record<string, string> => ({
  FLEET_AGENT_STATE: state,
  FLEET_AGENT_HUB: office.hubAddress,
  FLEET_AGENT_REGISTRY: office.registryAddress,
  FLEET_AGENT_POLL: '1s',
  FLEET_AGENT_INTERVAL: '1s',
});

export const enrol = async (office: OnlineOffice, field: Field, env: NodeJS.ProcessEnv): Promise<void> => {
  const token = join(office.folder, 'token');
  await writeFile(token, `${await office.token(SITE)}\n`);
  const words = ['--site', SITE, '--name', NAME, '--channel', field.channel, '--token-file', token];
  const argv = [
    process.execPath,
    programFile('agent'),
    'enroll',
    ...words,
    '--root-sha256',
    office.rootSha256,
  ];
  await enrolOnceReleased(() => runCommand(argv, { cwd: office.folder, env }));
  succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7', '--allow-unknown'));
};

/** A release about every second, every fourth of them bad, and as often somebody who spoils something. */
const keepBusy = async (
  signal: AbortSignal,
  random: () => number,
  field: Field,
  next: () => number,
): Promise<void> => {
  while (!signal.aborted) {
    await field.change(next(), random() > 0.25);
    await sleep(300 + 400 * random());
    await field.spoil(random);
    await sleep(300 + 400 * random());
  }
};

type Aim = {
  readonly afterMs: number;
  /** Then waits for the next operation, and for a random part of it. */
  readonly aimed: boolean;
  readonly state: string;
  readonly random: () => number;
};

const killed = async (
  office: OnlineOffice,
  victim: Victim,
  agent: Process,
  { afterMs, aimed, state, random }: Aim,
): Promise<void> => {
  switch (victim) {
    case 'agent':
      await sleep(afterMs);
      if (aimed) await someOperation(state, random);
      await agent.end('SIGKILL');
      return;
    case 'hub':
      await sleep(afterMs);
      await office.hub.end('SIGKILL');
      return;
    case 'publish': {
      succeed(await office.scheduler('build', '--images', 'images', '-e', 'prod'));
      const argv = [process.execPath, programFile('scheduler'), ...office.publishing];
      await using publishing = makeProcess(argv, { cwd: office.folder });
      await publishing.start();
      // It takes a second to begin.
      await sleep(700 + afterMs / 4);
      await publishing.end('SIGKILL');
    }
  }
};

/** Half of the time that packages are worked on is over in a few milliseconds: random moments alone would miss it. */
const someOperation = async (directory: string, random: () => number): Promise<void> => {
  using state = openState(directory);
  const limit = Date.now() + 8000;
  while (!openOperation(state) && Date.now() < limit) await sleep(2);
  await sleep(random() * 250);
};

const momentOf = (directory: string): string => {
  using state = openState(directory);
  const open = openOperation(state);
  if (!open) return 'between operations';
  return `${open.kind}${open.rollingBack ? ' (roll back)' : ''}, ${open.phase}`;
};

type Patience = { readonly agent: Process; readonly recoveryMs: number };

/** Waits until nothing is wrong any more. @throws Error with what still is */
const converged = async (
  office: OnlineOffice,
  field: Field,
  directory: string,
  { agent, recoveryMs }: Patience,
): Promise<void> => {
  const limit = Date.now() + recoveryMs;
  let wrong: readonly string[] = ['nothing was looked at'];
  // Twice in a row: once may be a moment before something begins.
  for (let well = 0; well < 2; ) {
    wrong = [...(await field.faults()), ...faultsOfState(directory)];
    well = wrong.length === 0 ? well + 1 : 0;
    if (Date.now() > limit) {
      const said = `${agent.log().slice(-1500)}\n${office.hub.log().slice(-1500)}`;
      throw new Error(`not as desired after ${recoveryMs} ms:\n${wrong.join('\n')}\n${said}`);
    }
    await sleep(100);
  }
  const events = eventsAtHub(office.folder, AGENT);
  const told = [...faultsAtHub(office.folder, AGENT), ...toldTwice(events).map((it) => `told twice: ${it}`)];
  if (told.length > 0) throw new Error(`the hub's record is wrong:\n${told.join('\n')}`);
};

/** Lists the unhealthy packages and undelivered events of an agent; empty if there are none. */
export const faultsOfState = (directory: string): readonly string[] => {
  using state: State = openState(directory);
  const open = openOperation(state);
  const { events } = outboxSize(state);
  const ill = readPackages(state).filter(({ status }) => status !== 'healthy');
  return [
    ...(open ? [`${open.kind} ${open.assignment} is in phase ${open.phase}`] : []),
    ...(events > 0 ? [`${events} events wait for the hub`] : []),
    ...ill.map(({ assignment, status, message }) => `${assignment} is ${status}: ${message ?? ''}`),
  ];
};
