import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStatusSetter } from '../../../../scheduler/hub/serve/commit-statuses.ts';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import type { Promotion, PromotionPolicy } from '../../../../scheduler/model/promotion.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { startForge } from '../../../harness/neighbours/forge-server.ts';
import { writeOneCommit } from '../../../harness/neighbours/one-commit.ts';
import { writeFiles } from '../../file-tree.ts';
import { FILES, NOW, openChainOffice } from '../../release/chain/chain-office.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { compliance, policy } from '../promote/gate/gate-cases.ts';
import { dropDatabase, hubDatabaseAt } from '../test-database.ts';

const NEVER = new AbortController().signal;
const MINUTE = 60_000;

const chainOf = (...promotionPolicies: readonly PromotionPolicy[]): Promotion => ({
  environments: [{ name: 'dev' }, { name: 'qa', promotedFrom: 'dev' }, { name: 'prod', promotedFrom: 'qa' }],
  promotionPolicies,
  rolloutPolicies: [],
  freshnessPolicies: [],
});

/** Wants no agent, because none is enrolled here: what is released complies. test/scheduler/hub/promote judges agents. */
const link = (from: string, to: string, more: Partial<PromotionPolicy> = {}): PromotionPolicy =>
  policy({ name: `${from}-to-${to}`, from, to, compliance: compliance({ atLeast: 0 }), ...more });

/** A chain whose only repository is at a Gitea, and the statuses of its commits. */
const openStatuses = async ({
  repo = 'https://git.example/org/gitops',
  token = 'gitea-token',
}: {
  repo?: string;
  token?: string;
} = {}) => {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryDirectory('statuses'));
  const bare = join(folder.path, 'app.git');
  const first = await writeOneCommit(bare);
  const forge = opening.use(await startForge('gitea', bare));
  const office = await openChainOffice(FILES, undefined, { repo, first });
  await writeFiles(office.folder, {
    token: `${token}\n`,
    'fleet-scheduler.yaml': `keys: keys
layout: out
commitStatuses:
  forges: [{host: git.example, forge: "gitea=${forge.api}", tokenFile: token}]
  targetUrl: https://hub.example/status
`,
  });
  const config = join(office.folder, 'fleet-scheduler.yaml');
  const configuration = await readConfiguration({ config }, office.folder);
  const { commitStatuses } = configuration;
  if (!commitStatuses) throw new Error('no commitStatuses');
  const db = await hubDatabaseAt(join(office.folder, 'hub.db'), 'halden');
  opening.defer(() => dropDatabase(db));
  const store = opening.use(await openStore(db, 'halden'));
  const log: Record<string, unknown>[] = [];
  const note = (fields: object, message: string): void => void log.push({ ...fields, message });
  let now = NOW;
  /** As after a start of serve. */
  const start = (chain: Promotion) => {
    const setter = createStatusSetter({
      configuration,
      commitStatuses,
      store,
      clock: () => now,
      log: { info: note, warn: note, error: note } as never,
      env: {},
      random: () => 0.5,
    });
    setter.follow(chain);
    return { follow: setter.follow, round: () => setter.round(NEVER) };
  };
  const opened = opening.move();
  return {
    office,
    forge,
    log,
    first,
    start,
    pass: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
    said: () => forge.statuses.map(({ sha, context, state }) => `${sha === first} ${context} ${state}`),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
};

const waiting = link('dev', 'qa', { compliance: compliance({ percent: 100 }) });

test('a commit status is pending during the rollout and success when the environment complies, each sent once', async () => {
  await using made = await openStatuses();
  const { office, forge } = made;
  const setter = made.start(chainOf(waiting));
  await setter.round();
  expect(made.said()).toEqual([]);
  await office.build();
  for (let round = 0; round < 3; round++) await setter.round();
  expect(made.said()).toEqual(['true fleet-ferry/dev pending']);
  expect(forge.statuses[0]).toMatchObject({ target_url: 'https://hub.example/status' });
  setter.follow(chainOf(link('dev', 'qa')));
  for (let round = 0; round < 3; round++) await setter.round();
  expect(made.said().slice(1)).toEqual(['true fleet-ferry/dev success']);
  // Not taken back, and known after a restart.
  await made.start(chainOf(waiting)).round();
  await made.start(chainOf(link('dev', 'qa'))).round();
  expect(forge.statuses).toHaveLength(2);
  expect(forge.authorizations).toEqual(new Set(['token gitea-token']));
});

test('each environment has its own commit status, and a rejected candidate fails in its own', async () => {
  await using made = await openStatuses();
  const { office } = made;
  await office.build();
  await office.promote('dev', 'qa');
  await office.build();
  const setter = made.start(chainOf(link('dev', 'qa'), link('qa', 'prod')));
  await setter.round();
  expect(made.said()).toEqual(['true fleet-ferry/dev success', 'true fleet-ferry/qa success']);
  await office.reject('qa', 'it leaks');
  await setter.round();
  expect(made.said().slice(2)).toEqual(['true fleet-ferry/qa failure']);
  expect(made.forge.statuses.at(-1)?.['description']).toContain('it leaks');
});

test('a failure is logged without the token and tried again after a pause', async () => {
  await using made = await openStatuses();
  const { office, forge, log } = made;
  await office.build();
  const setter = made.start(chainOf(link('dev', 'qa')));
  forge.failNext = { status: 503, message: 'maintenance' };
  await setter.round();
  const asked = forge.requests.length;
  await setter.round();
  expect(forge.requests).toHaveLength(asked);
  expect(log).toMatchObject([
    { message: 'commit status not set', code: 'FORGE_UNREACHABLE', environment: 'dev', commit: made.first },
  ]);
  made.pass(2 * MINUTE);
  forge.failNext = undefined;
  await setter.round();
  expect(made.said()).toEqual(['true fleet-ferry/dev success']);
  expect(JSON.stringify(log)).not.toContain('gitea-token');
});

test('a failure is tried again when the clock was ahead and has been set back', async () => {
  await using made = await openStatuses();
  const { office, forge } = made;
  await office.build();
  const setter = made.start(chainOf(link('dev', 'qa')));
  forge.failNext = { status: 503, message: 'maintenance' };
  made.pass(100 * 24 * 60 * MINUTE);
  await setter.round();
  forge.failNext = undefined;
  made.pass(-100 * 24 * 60 * MINUTE);
  await setter.round();
  expect(made.said()).toEqual(['true fleet-ferry/dev success']);
});

test('a repository on an unconfigured host gets no request and no token', async () => {
  await using made = await openStatuses({ repo: 'https://tenant.example/org/gitops' });
  await made.office.build();
  await made.start(chainOf(link('dev', 'qa'))).round();
  expect(made.forge.requests).toEqual([]);
  expect(made.log).toEqual([]);
});

test('a newer commit gets its own status, and a commit unknown to the forge is logged', async () => {
  await using made = await openStatuses();
  const { office, log } = made;
  await office.build();
  const setter = made.start(chainOf(link('dev', 'qa')));
  await setter.round();
  office.config('base/level.yaml', 'base-1');
  await office.build();
  await setter.round();
  expect(made.said()).toEqual(['true fleet-ferry/dev success']);
  expect(log.at(-1)).toMatchObject({ message: 'commit status not set', code: 'FORGE_REFUSED' });
});
