import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { isTried } from '../../harness/run/long.ts';
import { hookCases, surroundingCases } from './refusals/admission.ts';
import { contentCases, definitionCases } from './refusals/content.ts';
import type { Question, RefusalCase } from './refusals/question.ts';
import { startWebhookServer, type WebhookServer } from './refusals/webhook-server.ts';

/** The unit tests judge each of these. `FLEET_RECORD=1` writes the file anew, one version of Kubernetes after the other. */
const FILE = join(import.meta.dirname, '../../agent/apply/kubernetes/api/recorded-refusals.json');

type Recorded = {
  readonly title: string;
  readonly versions: readonly string[];
  readonly code: number;
  readonly status: unknown;
};

/** A server may need a while for what was asked before: to see a policy, to serve a kind. */
const PATIENCE = { timeout: 30_000, interval: 100 };

describeOnKubernetes(['kwok'], 'refusals of an API server', ({ version, kube }, { kwok }) => {
  let cluster: OwnCluster;
  let hooks: WebhookServer;
  beforeAll(async () => {
    [cluster, hooks] = await Promise.all([startOwnCluster({ kube, kwok, nodes: 1 }), startWebhookServer()]);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await hooks?.[Symbol.asyncDispose]();
  });

  const ask = ({ method, path, body, type, as }: Question) =>
    cluster.request(method, path, body, { ...(type && { type }), ...(as && { as }) });
  const refusalOf = async ({ title, given = [], until, asked, later }: RefusalCase): Promise<Recorded> => {
    for (const question of given)
      await expect
        .poll(async () => statusOf(await ask(question)), {
          ...PATIENCE,
          message: `${title}: ${question.path}`,
        })
        .toMatch(/^20/);
    if (until !== undefined)
      await expect
        .poll(async () => JSON.stringify((await ask({ method: 'GET', path: until.path })).body), PATIENCE)
        .toContain(until.words);
    if (later === true) {
      const dry = { ...asked, path: `${asked.path}&dryRun=All` };
      await expect
        .poll(async () => statusOf(await ask(dry)), { ...PATIENCE, message: title })
        .toMatch(/^[45]/);
    }
    const { status, body } = await ask(asked);
    return { title, versions: [version], code: status, status: shortened(body) };
  };

  it('are those in the recorded file', { timeout: 300_000 }, async () => {
    const seen: Recorded[] = [];
    const records = process.env['FLEET_RECORD'] === '1';
    // Of policies and webhooks, for each of which the server takes a while, a usual run asks one of three.
    const hooked = hookCases(hooks.at);
    const cases = [...surroundingCases(), ...contentCases(), ...definitionCases(hooks.at), ...hooked];
    const tried = cases.filter((each) => records || !hooked.includes(each) || isTried(hooked.indexOf(each)));
    for (const each of tried) seen.push(await refusalOf(each));
    expect(seen.filter(({ code }) => code < 400)).toEqual([]);
    if (records) await record(seen, version);
    const recorded = (await readRecord()).filter(({ versions }) => versions.includes(version));
    expect(cases.map(({ title }) => title)).toEqual(recorded.map(({ title }) => title));
    for (const { versions: _, ...one } of seen)
      expect(recorded.find(({ title }) => title === one.title)).toMatchObject(one);
  });
});

const statusOf = ({ status, body }: { readonly status: number; readonly body: unknown }): string =>
  `${status} ${status < 300 ? '' : JSON.stringify(body)}`;

/** What the agent reads of a Status, without what differs from run to run. */
const shortened = (body: unknown): object => {
  const { message, reason, details } = (typeof body === 'string' ? { message: body } : body) as {
    readonly message?: string;
    readonly reason?: string;
    readonly details?: { readonly causes?: readonly { readonly message?: string }[] };
  };
  const text = (words: string, length: number) => words.slice(0, length);
  const status = {
    ...(message !== undefined && { message: text(message, 1000) }),
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && {
      details: {
        ...details,
        ...(details.causes && {
          causes: details.causes.map(({ message: said, ...cause }) => ({
            ...cause,
            ...(said !== undefined && { message: text(said, 300) }),
          })),
        }),
      },
    }),
  };
  const json = JSON.stringify(status)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => id.replaceAll(/[0-9a-f]/g, '0'))
    .replaceAll(/127\.0\.0\.1:\d{2,}/g, '127.0.0.1:10250')
    .replaceAll(/revision=\d+/g, 'revision=1')
    .replaceAll(/(resourceVersion\\*":\\*")\d+/g, '$11')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '2026-11-28T00:00:00Z');
  return JSON.parse(json) as object;
};

const readRecord = async (): Promise<readonly Recorded[]> =>
  JSON.parse(await readFile(FILE, 'utf8')) as readonly Recorded[];

/** Puts what a version answers into the file: where another version says the same, that record has both. */
const record = async (seen: readonly Recorded[], version: string): Promise<void> => {
  const others = (await readRecord())
    .filter(({ versions }) => versions?.some((one) => one !== version))
    .map((one) => ({ ...one, versions: one.versions.filter((each) => each !== version) }));
  const same = (a: Recorded, b: Recorded) =>
    JSON.stringify({ ...a, versions: [] }) === JSON.stringify({ ...b, versions: [] });
  const merged = seen.flatMap((one) => {
    const twin = others.find((other) => same(one, other));
    const versions = [...(twin?.versions ?? []), version].toSorted();
    return [{ ...one, versions }, ...others.filter((other) => other !== twin && other.title === one.title)];
  });
  await writeFile(FILE, `${JSON.stringify(merged, null, 2)}\n`);
};
