import { join } from 'node:path';
import { pino } from 'pino';
import { addDays } from '#bundles/time';
import { openAuthoring } from '../../../../../scheduler/author/serve/open-authoring.ts';
import type { Hub } from '../../../../../scheduler/hub/hub.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { createServer, type ServerOptions } from '../../../../../scheduler/hub/http/create-server.ts';
import type { HubServer } from '../../../../../scheduler/hub/http/hub-server.ts';
import { createMetrics } from '../../../../../scheduler/hub/http/metrics/metrics.ts';
import { notePresence } from '../../../../../scheduler/hub/http/note-presence.ts';
import { NO_PEOPLE, type People } from '../../../../../scheduler/hub/people/people.ts';
import { openStore, type Store } from '../../../../../scheduler/hub/store/open-store.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { openChanges } from '../../../../../scheduler/hub/promote/facts/read-changes.ts';
import { readConfiguration } from '../../../../../scheduler/settings/configuration.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { type ChainedOffice, chainedOffice } from '../../promote/decide/chained-office.ts';
import { NOW } from '../../../release/removals/office.ts';
import { dropDatabase, hubDatabaseAt } from '../../test-database.ts';

export type Answer = {
  readonly status: number;
  readonly type: string;
  readonly etag: string | undefined;
  readonly json: Record<string, unknown>;
  /** Of a refusal. */
  readonly code: unknown;
};

export type Caller = {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
};

export type DecisionServer = AsyncDisposable & {
  readonly office: ChainedOffice;
  readonly store: Store;
  /** Requests with a token that allows this. Paths are below `/v1/environments/`, or absolute. */
  readonly caller: (...allowances: readonly string[]) => Promise<Caller>;
  readonly callerWith: (token: string) => Caller;
  readonly reader: () => Promise<Caller>;
  /** How often the loop was asked to build. */
  readonly pokes: () => number;
  readonly setNow: (now: Date) => void;
  readonly server: HubServer;
  /** Another process on the same database and layout, as after a kill. */
  readonly restart: () => Promise<void>;
};

/** People who sign in at a provider that does not answer, so that the routes of sign-in exist. */
export const WITH_SIGN_IN: People = {
  ...NO_PEOPLE,
  oidc: {
    issuer: 'http://127.0.0.1:1',
    clientId: 'fleet-ferry',
    clientSecret: undefined,
    scope: 'openid',
    personClaim: 'email',
    groupsClaim: 'groups',
    ca: undefined,
    timeoutMs: 1_000,
  },
};

/** The hub's routes over an office whose prod is promoted from qa. @param files of the platform, instead of the office's */
export const decisionServer = async (
  options: Partial<ServerOptions> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<DecisionServer> => {
  const office = await chainedOffice(files);
  const { folder, layout } = office;
  const db = await hubDatabaseAt(join(folder, 'hub.db'), 'halden');
  const store = await openStore(db, 'halden');
  let now = NOW;
  let pokes = 0;
  const readKeys = () => openKeyDirectory(join(folder, 'keys'));
  const hub: Hub = { keys: await readKeys(), store, layout, [Symbol.asyncDispose]: async () => {} };
  const clock = () => now;
  const log = pino({ level: 'silent' });
  const configuration = await readConfiguration(
    { platform: join(folder, 'platform'), keys: join(folder, 'keys'), layout, cache: join(folder, 'cache') },
    folder,
  );
  const open = async (): Promise<HubServer> =>
    createServer({
      context: {
        hub,
        authority: await hub.keys.authority(),
        signer: await siteSigner(hub),
        receiptKey: await hub.keys.key('receipt'),
        clock,
        metrics: createMetrics(store.db, clock),
        presence: notePresence(store, clock, log),
        onSiteChange: () => {},
        onReport: () => {},
      },
      log,
      decisions: {
        readKeys,
        readPromotion: async () => (await office.openChain()).promotion,
        openChanges: openChanges(configuration, { env: process.env, cwd: process.cwd() }),
        wake: () => {
          pokes += 1;
        },
        signal: new AbortController().signal,
      },
      authoring: openAuthoring({
        configuration,
        env: process.env,
        cwd: process.cwd(),
        clock,
        signal: new AbortController().signal,
      }),
      ...options,
    });
  let server = await open();
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    { headers, body }: { readonly headers: Record<string, string>; readonly body?: unknown },
  ): Promise<Answer> => {
    const url = path.startsWith('/') ? path : `/v1/environments/${path}`;
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await server.inject({
      method,
      url,
      headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { payload }),
    });
    const { statusCode: status, headers: given } = answer;
    const json = answer.body === '' ? {} : answer.json<Record<string, unknown>>();
    const type = String(given['content-type']).split(';')[0] ?? '';
    return { status, type, etag: given['etag'], json, code: json['code'] };
  };
  const callerWith = (token: string): Caller => {
    const authorization = `Bearer ${token}`;
    return {
      get: (path, headers = {}) => ask('GET', path, { headers: { authorization, ...headers } }),
      post: (path, body, headers = {}) => ask('POST', path, { headers: { authorization, ...headers }, body }),
    };
  };
  const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
  return {
    office,
    store,
    callerWith,
    caller: async (...allowances) => {
      const order = { scope: 'decide', person: 'ci', allowances: allowances.map(parseAllowance) } as const;
      return callerWith((await createToken(store, order, terms)).token);
    },
    reader: async () => callerWith((await createToken(store, { scope: 'reader' }, terms)).token),
    pokes: () => pokes,
    setNow: (next) => {
      now = next;
    },
    get server() {
      return server;
    },
    restart: async () => {
      await server.close();
      server = await open();
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store[Symbol.asyncDispose]();
      await dropDatabase(db);
    },
  };
};
