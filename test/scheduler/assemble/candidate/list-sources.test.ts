import { expect, test } from 'vitest';
import { listSources } from '../../../../scheduler/assemble/candidate/list-sources.ts';
import { target } from '../../model-objects.ts';

const snapshot = (more: object = {}) => ({
  role: 'application/shop-web',
  repo: 'https://git.example/shop',
  path: 'app',
  tree: `sha256:${'0'.repeat(64)}`,
  directory: '/cache/shop',
  ...more,
});

const web = target('web', { name: 'shop-web', workspace: 'sales', registration: 'shop' });
const other = target('other', { name: 'till-web', workspace: 'tills', registration: 'till' });

test.each([
  ['repo', { repo: `https://git.example/${'r'.repeat(2048)}` }],
  ['path', { path: 'p'.repeat(1025) }],
  ['ref', { ref: 'b'.repeat(256) }],
  ['version', { described: { version: 'v'.repeat(129) } }],
])('a source whose %s exceeds the limits of a candidate holds its own deployment target only', (_, more) => {
  const kept = snapshot({ role: 'application/till-web' });
  const { sources, whyNot } = listSources([snapshot(more), kept], [web, other]);
  expect(sources.map(({ role }) => role)).toEqual(['application/till-web']);
  expect(whyNot(web)).toMatchObject({ code: 'FIELD_INVALID' });
  expect(whyNot(other)).toBeUndefined();
});

test('a source with fields of maximum length is listed', () => {
  const long = {
    repo: 'r'.repeat(2048),
    path: 'p'.repeat(1024),
    ref: 'b'.repeat(255),
    described: { version: 'v'.repeat(128) },
  };
  const { sources, whyNot } = listSources([snapshot(long)], [web]);
  expect(sources).toHaveLength(1);
  expect(whyNot(web)).toBeUndefined();
});

test('a workload folder above the limits holds all targets of its registration', () => {
  const { sources, whyNot } = listSources(
    [snapshot({ role: 'workload/shop', path: 'p'.repeat(1025) })],
    [web, other],
  );
  expect(sources).toEqual([]);
  expect(whyNot(web)).toMatchObject({ code: 'FIELD_INVALID' });
  expect(whyNot(other)).toBeUndefined();
});

test('a platform source above the limits fails the build of its environment', () => {
  expect(() => listSources([snapshot({ role: 'platform', path: 'p'.repeat(1025) })], [])).toThrow(
    'no release can name its source',
  );
});

test('beyond 10,000 sources, targets of the workspace with the most sources are held', () => {
  const greedy = Array.from({ length: 10_000 }, (_, at) =>
    target(`t${at}`, { name: `shop-t${at}`, workspace: 'sales', registration: 'shop' }),
  );
  const snapshots = [...greedy, other].map(({ name }) => snapshot({ role: `application/${name}` }));
  const { sources, whyNot } = listSources(snapshots, [...greedy, other]);
  expect(sources).toHaveLength(10_000);
  expect(whyNot(other)).toBeUndefined();
  expect(greedy.flatMap((one) => whyNot(one)?.code ?? [])).toEqual(['WORKSPACE_LIMIT']);
});
