import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '#bundles/digest';
import type { Agent } from '../../agent/store/agent.ts';
import { enrollOnline, type OnlineEnrollment } from '../../agent/enroll/enroll-online.ts';
import type { HubOptions } from '../../agent/hub/hub-client.ts';
import type { State } from '../../agent/store/state.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import {
  type CertifiedFleet,
  createCertifiedFleet,
  type HubServer,
  startHubServer,
  TODAY,
} from './hub-server.ts';
import { openFast, POLICY, SITE, testAgent, testEdge } from './world.ts';

export const PATIENT: HubOptions = { env: {}, sleep: async () => {}, random: () => 0.5 };

/** A machine, a fleet and its hub; not enrolled yet. */
export type OnlineWorld = AsyncDisposable & {
  readonly folder: string;
  readonly fleet: CertifiedFleet;
  readonly hub: HubServer;
  readonly state: State;
  readonly enroll: (
    more?: Partial<OnlineEnrollment>,
    token?: string,
    options?: HubOptions,
  ) => ReturnType<typeof enrollOnline>;
  /** Once enrolled. */
  readonly agent: (more?: Partial<Agent>) => Agent;
};

let shared: Promise<CertifiedFleet> | undefined;

export const createOnlineWorld = async (
  how: Parameters<typeof startHubServer>[2] = {},
): Promise<OnlineWorld> => {
  const stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await temporaryDirectory('online'));
  const fleet = await (shared ??= createCertifiedFleet());
  const hub = stack.use(await startHubServer(fleet, folder, how));
  const state = stack.use(openFast(join(folder, 'state'), { create: true }));
  mkdirSync(join(folder, 'machine'));
  const edge = testEdge(TODAY);
  const wish: OnlineEnrollment = {
    fleet: undefined,
    site: SITE,
    agent: 'kiosk-1',
    channel: { environment: 'prod', clusterType: 'factory-host' },
    labels: {},
    pinnedRoot: digestOf(fleet.roots[0] ?? ''),
  };
  return {
    folder,
    fleet,
    hub,
    state,
    enroll: (more = {}, token = 'token-1', options = PATIENT) =>
      enrollOnline(
        {
          state,
          edge,
          targets: [],
          images: [],
          policy: POLICY,
          freeBytes: async () => 1 << 30,
          onJournal: () => {},
          signal: new AbortController().signal,
        },
        { ...wish, ...more },
        hub.url,
        token,
        options,
      ),
    agent: (more = {}) => testAgent(state, folder, { edge, ...more }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};
