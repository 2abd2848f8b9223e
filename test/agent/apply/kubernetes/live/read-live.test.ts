import { expect, test } from 'vitest';
import { readLive, readLiveOfNew } from '../../../../../agent/apply/kubernetes/live/read-live.ts';
import { memoryApi } from '../memory-api.ts';

const signal = new AbortController().signal;
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', name });
const map = (at: string, name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: at, name });
const asLive = ({ apiVersion, kind, ...metadata }: { apiVersion: string; kind: string; name: string }) => ({
  apiVersion,
  kind,
  metadata,
});

test('a new package: an absent namespace of its references is not searched, an unmentioned one is', async () => {
  const api = memoryApi();
  const asked: string[] = [];
  const counting = {
    ...api,
    read: (ref: Parameters<typeof api.read>[0], until: AbortSignal) => {
      asked.push(`${ref.kind} ${ref.name}`);
      return api.read(ref, until);
    },
  };
  for (const one of [namespace('there'), map('there', 'a'), map('elsewhere', 'b')]) api.put(asLive(one));
  const refs = [
    map('absent', 'c'),
    namespace('absent'),
    map('there', 'a'),
    namespace('there'),
    map('elsewhere', 'b'),
  ];
  const found = await readLiveOfNew(counting, refs, signal);
  expect([...found.values()].map(({ metadata: { name } }) => name).toSorted()).toEqual(['a', 'b', 'there']);
  expect(asked.toSorted()).toEqual(['ConfigMap a', 'ConfigMap b', 'Namespace absent', 'Namespace there']);
  expect(await readLive(api, refs, signal)).toEqual(found);
});
