import { array, assert, asyncProperty, constantFrom, string } from 'fast-check';
import { expect, test } from 'vitest';
import { chain, type Happening, HOSTS, reportOf, testAgent } from '../test-hub.ts';
import { hand, join, type TestServer, testServer } from '../serve/test-server.ts';
import { packageIn } from '../questions/history/shop-hub.ts';
import { runs } from '../../../harness/run/long.ts';

/** Pieces of SQL, HTML, terminal sequences, other encodings and paths, with ordinary text between them. */
const piece = constantFrom(
  "'; drop table agent; --",
  '" or 1=1 --',
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '&lt;b&gt;',
  'javascript:alert(1)',
  '\u001b[2J\u001b[31m',
  '\u001b]0;title\u0007',
  '\u001b]8;;https://elsewhere.example\u001b\\',
  '\u009b2J',
  '\u202egpj.exe',
  '\u200b',
  '\b\r',
  '%00%1b',
  '../../etc/passwd',
  '${7*7}{{7*7}}',
);
const hostile = array(piece, { minLength: 2, maxLength: 4 }).chain((pieces) =>
  string({ maxLength: 8 }).map((plain) => `${pieces.join(plain)}${plain}`),
);

/** Control and format characters that a terminal would act on. */
const ACTIVE = /(?![\n\t])[\p{Cc}\p{Cf}]/u;

const fill = async (made: TestServer, word: string): Promise<void> => {
  const app = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', namespace: 'shop', labels: { 'app.kubernetes.io/version': word, [word]: word } },
    data: { [word]: word },
  };
  const [bundle] = await made.hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'kubernetes', packages: { web: { 'app.yaml': JSON.stringify(app) } } }],
  });
  await made.hub.layoutWriter.keep(HOSTS);
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const step = {
    assignment: 'web',
    package: await packageIn(made.hub, bundle, 'web'),
    release: { ...HOSTS, version: 1 },
  };
  const drift = [{ key: word, what: 'content', message: word }];
  const happenings: readonly Happening[] = [
    { ...step, type: 'package', outcome: 'configured' },
    { ...step, type: 'drift', code: 'DRIFT', message: word, detail: { drift } },
    { ...step, type: 'check', outcome: 'failed', code: 'CHECK_FAILED', message: word },
    { type: 'held', message: word, detail: { by: word, reason: word } },
  ];
  const answer = await hand(made, await reportOf(agent, chain(agent, happenings)), certificate);
  if (answer.status !== 200) throw new Error(answer.text);
};

const strings = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [name, ...strings(one)]);
};

const QUESTIONS = [
  '/v1/status',
  '/v1/sites',
  '/v1/overview',
  '/v1/events',
  '/v1/history',
  '/v1/where',
  '/v1/workloads',
  '/v1/media',
  '/v1/alarms',
  '/v1/package?agent=plant-7/press-1&assignment=web',
] as const;

/** Questions whose answers have the words of the agent or of the package. */
const TELLING: ReadonlySet<string> = new Set([
  '/v1/status',
  '/v1/events',
  '/v1/workloads',
  '/v1/package?agent=plant-7/press-1&assignment=web',
]);

test('hostile text of agents and packages is stored and returned literally, without active characters', async () => {
  await assert(
    asyncProperty(hostile, async (word) => {
      await using made = await testServer();
      await fill(made, word);
      const authorization = `Bearer ${await made.reader()}`;
      for (const url of QUESTIONS) {
        const json = await made.get(url, { authorization, accept: 'application/json' });
        expect([url, json.status], json.text).toEqual([url, 200]);
        expect(json.text).not.toMatch(ACTIVE);
        expect(json.headers).toMatchObject({ 'content-type': expect.stringContaining('application/json') });
        if (TELLING.has(url))
          expect(
            strings(json.body).some((one) => one.includes(word)),
            `${url}: ${json.text}`,
          ).toBe(true);
      }
      for (const url of ['/v1/status', '/v1/events', '/v1/history', '/v1/where', '/v1/workloads']) {
        const text = await made.get(url, { authorization, accept: 'text/plain' });
        expect([url, text.status]).toEqual([url, 200]);
        expect(text.text, url).not.toMatch(ACTIVE);
      }
      // Nothing of it was taken for a statement.
      const agents = await made.hub.store.db.selectFrom('agent').select('id').execute();
      expect(agents).toEqual([{ id: 'plant-7/press-1' }]);
    }),
    // Each run fills a hub of its own.
    { numRuns: runs(9) },
  );
});

test('hostile names in a query are refused or find nothing, and are returned without active characters', async () => {
  await using made = await testServer();
  await fill(made, 'plain');
  const authorization = `Bearer ${await made.reader()}`;
  const asks = [
    ...['status', 'sites', 'media', 'alarms', 'audit', 'workloads'].map((path) => `/v1/${path}?environment=`),
    ...['status', 'sites', 'media', 'alarms', 'where', 'events'].map((path) => `/v1/${path}?site=`),
    ...['history', 'where', 'events'].map((path) => `/v1/${path}?name=`),
    ...['sites', 'media', 'alarms', 'audit', 'search?q=a&'].map((path) =>
      path.includes('?') ? `/v1/${path}cursor=` : `/v1/${path}?cursor=`,
    ),
    '/v1/workloads?workload=',
    '/v1/search?q=',
    '/v1/alarms?kind=',
    '/v1/package?assignment=web&agent=',
    '/v1/package?agent=plant-7/press-1&assignment=',
    '/v1/compare?right=qa&left=',
    '/v1/environments/',
  ];
  let address = 0;
  await assert(
    asyncProperty(constantFrom(...asks), hostile, async (ask, word) => {
      address += 1;
      const answer = await made.server.inject({
        url: `${ask}${encodeURIComponent(word)}${ask.endsWith('environments/') ? '/gate' : ''}`,
        remoteAddress: `10.1.${Math.floor(address / 250)}.${address % 250}`,
        headers: { authorization, accept: 'application/json' },
      });
      expect([200, 400, 403, 404], `${ask} ${answer.body}`).toContain(answer.statusCode);
      expect(answer.body).not.toMatch(ACTIVE);
      expect(answer.headers['content-type']).toMatch(/^application\/(?:problem\+)?json/);
    }),
    { numRuns: runs(300) },
  );
});
