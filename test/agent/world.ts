import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { importMedium } from '../../agent/daemon/import-medium.ts';
import type { Agent } from '../../agent/store/agent.ts';
import type { Policy } from '../../agent/config/policy-of.ts';
import type { Edge } from '../../agent/model/edge.ts';
import { enroll } from '../../agent/enroll/enroll.ts';
import { readOutbox } from '../../agent/store/outbox/outbox.ts';
import { readIdentity } from '../../agent/store/identity.ts';
import { openState, type State } from '../../agent/store/state.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../harness/fleets/folder-template.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  type TestMedium,
  type TestPackage,
  writeTestMedium,
} from '../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { folderTarget } from './folder-target.ts';

export const NOW = new Date('2026-11-21T08:00:00Z');

export const testEdge = (now = NOW): Edge => {
  let ticks = 0;
  return {
    now: () => now,
    monotonicMs: () => ++ticks,
    bootId: 'boot-1',
    clockTrusted: true,
    operator: 'technician',
  };
};

export const POLICY: Policy = {
  onDrift: 'correct',
  onStale: 'continue',
  breakGlass: false,
  allowReboot: true,
  maxValidityDays: 400,
  pruneBudget: 1,
  outboxBytes: 16 << 20,
};

/** A state that does not wait for the disk: component tests pull no plugs. */
export const openFast = (directory: string, options?: { readonly create?: boolean }): State => {
  const state = openState(directory, options);
  state.db.pragma('synchronous = OFF');
  return state;
};

/** An agent over a state and a machine that is a folder. */
export const testAgent = (state: State, folder: string, more: Partial<Agent> = {}): Agent => ({
  state,
  identity: readIdentity(state),
  targets: [folderTarget(join(folder, 'machine'))],
  images: [],
  edge: testEdge(),
  policy: POLICY,
  freeBytes: async () => 1 << 30,
  onJournal: () => {},
  signal: new AbortController().signal,
  ...more,
});

/** An enrolled agent of site plant-7, its fleet, and a folder for media. */
export type World = AsyncDisposable & {
  readonly folder: string;
  readonly fleet: TestFleet;
  readonly agent: Agent;
  /** Writes a medium for this agent's site: of version 1 unless said. */
  readonly medium: (what: TestMedium, siteVersion?: number) => Promise<string>;
  /** A medium with one release of these packages, imported. */
  readonly release: (version: number, packages: readonly TestPackage[]) => ReturnType<typeof importMedium>;
  readonly events: () => readonly Event[];
};

export const SITE = 'plant-7';

/** Makes the state of an agent that asked to be taken into the fleet, and its request. */
const enrollIn = async (folder: string, fleet: TestFleet): Promise<State> => {
  const request = join(folder, 'request');
  mkdirSync(request);
  const state = openFast(join(folder, 'state'), { create: true });
  const [root] = fleet.roots;
  await enroll(
    state,
    testEdge(),
    {
      fleet: fleet.name,
      site: SITE,
      agent: 'kiosk-1',
      channel: { environment: 'prod', clusterType: 'factory-host' },
      labels: {},
      pinnedRoot: digestOf(root ?? ''),
    },
    request,
  );
  return state;
};

/** A fleet, and the folder of an agent that asked it. Keys take time, and most tests do not care whose: made once, then copied. */
type Enrolled = { readonly fleet: TestFleet; readonly files: FolderTemplate };

const makeEnrolled = async (): Promise<Enrolled> => {
  const fleet = await createTestFleet();
  await using directory = await temporaryDirectory('agent-template');
  // Closed first: then all of the database is in its one file.
  (await enrollIn(directory.path, fleet))[Symbol.dispose]();
  return { fleet, files: await readTemplate(directory.path) };
};

let shared: Promise<Enrolled> | undefined;

const copyEnrolled = (folder: string, { fleet, files }: Enrolled) => {
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeTemplate(files, folder);
  return { made: fleet, state: openFast(join(folder, 'state')) };
};

/** @param fleet where the test needs its own; all others have the same fleet, and their agents the same key */
export const createWorld = async (fleet?: TestFleet, more: Partial<Agent> = {}): Promise<World> => {
  const directory = await temporaryDirectory('agent');
  const folder = directory.path;
  mkdirSync(join(folder, 'machine'));
  const { made, state } = fleet
    ? { made: fleet, state: await enrollIn(folder, fleet) }
    : copyEnrolled(folder, await (shared ??= makeEnrolled()));
  const agent = testAgent(state, folder, more);
  let media = 0;
  const medium: World['medium'] = (what, siteVersion = 1) =>
    writeTestMedium(join(folder, `medium-${++media}`), made, {
      site: { site: SITE, version: siteVersion, agents: [{ name: 'kiosk-1', key: agent.identity.key }] },
      ...what,
    });
  return {
    folder,
    fleet: made,
    agent,
    medium,
    release: async (version, packages) =>
      importMedium(agent, await medium({ release: { version, bundle: packTestBundle(made, packages) } })),
    events: () => readOutbox(state).map(({ line }) => JSON.parse(line) as Event),
    [Symbol.asyncDispose]: async () => {
      state[Symbol.dispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
};

/** A package of one file. */
export const onePackage = (id: string, content: string, more: Partial<TestPackage> = {}): TestPackage => ({
  id,
  files: { [`/opt/${id}`]: content },
  ...more,
});

export const agentKey = (agent: Agent) => parsePublicKey(agent.identity.key);

/** What is in the store, as digests without order. */
export const storedBlobs = async (state: State): Promise<ReadonlySet<Digest>> =>
  new Set(await state.blobs.list());
