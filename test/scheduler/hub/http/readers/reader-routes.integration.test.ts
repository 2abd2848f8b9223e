import { chmod, rm } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  COMPARE_PATH,
  EVENTS_PATH,
  HISTORY_PATH,
  STATUS_PATH,
  WHERE_PATH,
} from '#bundles/formats/events/hub-api';
import { addDays } from '#bundles/time';
import { chain, NOW, reportOf, testAgent } from '../../test-hub.ts';
import { type Answer, hand, join, type TestServer, testServer } from '../../serve/test-server.ts';

const refusalOf = ({ status, body }: Answer) => ({
  status,
  code: (body as { code?: string } | undefined)?.code,
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const withReport = async (): Promise<TestServer & { readonly token: TestServer['token'] }> => {
  const made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const digest = `sha256:${'a'.repeat(64)}` as const;
  const lines = chain(agent, [
    { type: 'package', assignment: 'gateway', package: digest, outcome: 'created' },
  ]);
  await hand(made, await reportOf(agent, lines), certificate);
  return made;
};

describe('what runs where', () => {
  it('is returned as JSON, and as a table in text', async () => {
    await using made = await withReport();
    const headers = bearer(await made.reader());
    const json = await made.get(STATUS_PATH, headers);
    expect(json.body).toMatchObject({
      fleet: 'acme',
      needALook: 1,
      rows: [
        { site: 'plant-7', agent: 'press-1', assignment: 'gateway', running: { source: { by: 'network' } } },
      ],
    });
    for (const text of [
      await made.get(`${STATUS_PATH}?format=text`, headers),
      await made.get(STATUS_PATH, { ...headers, accept: 'text/plain' }),
    ]) {
      expect(text.headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8' });
      expect(text.text).toMatch(/^SITE\/AGENT +CHANNEL .*\nplant-7\/press-1 +prod\/factory-host +gateway/);
    }
    expect((await made.get(STATUS_PATH, { ...headers, accept: '*/*' })).body).toEqual(json.body);
  });

  it('F7: shows bidirectional and invisible characters of an agent as escapes -> ACCEPT', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const code = 'A\u202eB\u2066C\u200fD\u2028E';
    const said = { type: 'package', assignment: 'gateway', package: `sha256:${'a'.repeat(64)}` } as const;
    const lines = chain(agent, [
      { ...said, outcome: 'created' },
      { ...said, outcome: 'failed', code },
    ]);
    await hand(made, await reportOf(agent, lines), certificate);
    const headers = bearer(await made.reader());
    const [text, json] = [
      await made.get(`${STATUS_PATH}?format=text`, headers),
      await made.get(STATUS_PATH, headers),
    ];
    expect(text.status === 200 && json.status === 200 ? 'ACCEPT' : text.text).toBe('ACCEPT');
    expect(text.text).toContain(String.raw`A\u202eB\u2066C\u200fD\u2028E`);
    expect(`${text.text}${json.text}`).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(json.body).toMatchObject({ rows: [{ health: { code } }] });
  });

  it('is paged by agents when a limit is given', async () => {
    await using made = await withReport();
    const headers = bearer(await made.reader());
    expect((await made.get(`${STATUS_PATH}?limit=1`, headers)).body).toMatchObject({
      rows: [{ site: 'plant-7' }],
      next: null,
    });
  });

  it('can be filtered by site and environment', async () => {
    await using made = await withReport();
    const headers = bearer(await made.reader());
    const rows = async (query: string) =>
      ((await made.get(`${STATUS_PATH}?${query}`, headers)).body as { rows: unknown[] }).rows.length;
    expect(await rows('site=plant-7&environment=prod')).toBe(1);
    expect(await rows('site=plant-8')).toBe(0);
    expect(await rows('environment=dev')).toBe(0);
  });

  it.each([
    ['site=PLANT', 'NAME_INVALID'],
    ['site=a&site=b', 'NAME_INVALID'],
    ['limit=0', 'USAGE'],
    ['cursor=x', 'USAGE'],
    ['limit=1&limit=2', 'USAGE'],
    ['format=xml', 'USAGE'],
    ['token=ffr_x', 'USAGE'],
  ])('is refused for ?%s', async (query, code) => {
    await using made = await testServer();
    const headers = bearer(await made.reader());
    expect(refusalOf(await made.get(`${STATUS_PATH}?${query}`, headers))).toEqual({ status: 400, code });
  });
});

describe.each([STATUS_PATH, '/metrics'])('%s requires a reader token', (path) => {
  it('and refuses other tokens', async () => {
    await using made = await testServer();
    const refused = { status: 401, code: 'TOKEN_INVALID' };
    const reader = await made.reader();
    expect(refusalOf(await made.get(path))).toEqual(refused);
    expect(refusalOf(await made.get(path, bearer(await made.token())))).toEqual(refused);
    expect(refusalOf(await made.get(path, bearer(`${reader}x`)))).toEqual(refused);
    expect(refusalOf(await made.get(path, { authorization: `Basic ${reader}` }))).toEqual(refused);
    expect((await made.get(path, { authorization: `bearer ${reader}` })).status).toBe(200);
    made.setNow(addDays(NOW, 2));
    expect(refusalOf(await made.get(path, bearer(reader)))).toEqual(refused);
  });
});

it('the metrics count requests by route and status, events by result, and agents by their last contact', async () => {
  await using made = await withReport();
  await join(made, testAgent('plant-8/silent'));
  await made.get('/nowhere');
  const read = async () => (await made.get('/metrics', bearer(await made.reader()))).text;
  const text = await read();
  for (const line of [
    'fleet_hub_requests_total{method="POST",route="/v1/reports",code="200"} 1',
    'fleet_hub_requests_total{method="GET",route="unknown",code="404"} 1',
    'fleet_hub_events_total{result="taken"} 1',
    'fleet_hub_reports_total{result="taken"} 1',
    'fleet_hub_enrolments_total{result="register"} 2',
    'fleet_agents{heard="10m"} 1',
    'fleet_agents{heard="never"} 1',
    'fleet_agents{heard="older"} 0',
    'fleet_alarms 0',
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).not.toContain('plant-7');
  made.setNow(new Date(NOW.getTime() + 3 * 3_600_000));
  const later = await read();
  expect(later.split('\n')).toContain('fleet_agents{heard="1d"} 1');
  expect(later.split('\n')).toContain('fleet_agents{heard="10m"} 0');
});

describe('health', () => {
  it('is readable without a token', async () => {
    await using made = await testServer();
    expect(await made.get('/healthz')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await made.get('/readyz')).toMatchObject({ status: 200, text: 'ready\n' });
  });

  it('is not ready without the receipt key, and reveals no path', async () => {
    await using made = await testServer();
    const file = joinPath(made.hub.path, 'keys', 'receipt.key');
    await chmod(file, 0o600);
    await rm(file);
    const answer = await made.get('/readyz');
    expect(refusalOf(answer)).toEqual({ status: 500, code: 'KEY_MISSING' });
    expect(answer.text).not.toContain(made.hub.path);
    expect((await made.get('/healthz')).status).toBe(200);
  });
});

it('an unknown path or method is refused in the same form as other errors', async () => {
  await using made = await testServer();
  expect(refusalOf(await made.get('/v2/roots'))).toEqual({ status: 404, code: 'USAGE' });
  expect(refusalOf(await made.get('/v1/enroll'))).toEqual({ status: 404, code: 'USAGE' });
  const xml = await made.server.inject({
    method: 'POST',
    url: '/v1/enroll',
    headers: { 'content-type': 'text/xml' },
    payload: '<a/>',
  });
  expect(xml.statusCode).toBe(415);
  expect(xml.json()).toMatchObject({
    code: 'USAGE',
    hint: 'Send JSON with the header content-type: application/json',
  });
});

describe('questions about the past', () => {
  it('are answered in pages, as JSON and text, and as 304 while nothing changed', async () => {
    await using made = await withReport();
    const headers = bearer(await made.reader());
    const first = await made.get(`${HISTORY_PATH}?name=plant-7&limit=1`, headers);
    const { next, changes } = first.body as { readonly next: string; readonly changes: readonly object[] };
    expect(changes).toMatchObject([
      { agent: 'plant-7/press-1', assignment: 'gateway', field: 'package', from: null },
    ]);
    const rest = await made.get(`${HISTORY_PATH}?name=plant-7&cursor=${next}`, headers);
    expect(rest.body).toMatchObject({ changes: [{ field: 'health', to: 'healthy' }], next: null });
    const etag = String((first.headers as Readonly<Record<string, unknown>>)['etag']);
    const again = await made.get(`${HISTORY_PATH}?name=plant-7&limit=1`, {
      ...headers,
      'if-none-match': etag,
    });
    expect([again.status, again.text]).toEqual([304, '']);
    const text = await made.get(`${WHERE_PATH}?workload=gateway&format=text`, headers);
    expect(text.text).toMatch(
      /^plant-7\/press-1, prod\/factory-host, heard .*\n {2}gateway {2}a{12} {2}for /,
    );
    expect((await made.get(`${EVENTS_PATH}?site=plant-7`, headers)).body).toMatchObject({
      events: [{ event: { seq: 1, type: 'package' }, source: { by: 'network' } }],
    });
    const past = await made.get(`${HISTORY_PATH}?at=2026-01-01T00:00:00Z`, headers);
    expect(past.body).toMatchObject({ agents: [], next: null });
  });

  it.each([
    [`${HISTORY_PATH}?limit=1001`, 'USAGE'],
    [`${HISTORY_PATH}?cursor=x`, 'USAGE'],
    [`${EVENTS_PATH}?at=1d`, 'USAGE'],
    [`${WHERE_PATH}?site=a&site=b`, 'USAGE'],
    [`${HISTORY_PATH}?name=nowhere`, 'USAGE'],
    [`${COMPARE_PATH}?left=qa`, 'NAME_INVALID'],
    [`${COMPARE_PATH}?left=qa&right=prod`, 'CHANNEL_MISSING'],
  ])('are refused for %s', async (path, code) => {
    await using made = await testServer();
    const headers = bearer(await made.reader());
    expect(refusalOf(await made.get(path, headers))).toEqual({ status: 400, code });
    expect(refusalOf(await made.get(path, {}))).toEqual({ status: 401, code: 'TOKEN_INVALID' });
  });
});
