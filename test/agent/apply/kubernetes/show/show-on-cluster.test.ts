import { describe, expect, it } from 'vitest';
import type { KubernetesApi } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { kubernetesTarget } from '../../../../../agent/apply/kubernetes/kubernetes-target.ts';
import type { AgentFacts, Happening } from '../../../../../agent/model/agent-facts.ts';
import type { Target } from '../../../../../agent/model/target.ts';
import { memoryApi } from '../memory-api.ts';

const NOW = new Date('2030-01-02T03:04:05Z');
const NEVER = new AbortController().signal;
const SHOWN = {
  apiVersion: 'fleet-ferry.internal/v1alpha1',
  kind: 'FleetAgent',
  namespace: 'fleet',
  name: 'acme',
};

const factsOf = (agent: string, lookedAt: string): AgentFacts => ({
  fleet: 'acme',
  agent,
  version: '1.2.3',
  channel: null,
  release: null,
  packages: [],
  lookedAt,
  outbox: { events: 0, bytes: 0 },
  hub: null,
  registry: null,
  verdict: 'Waiting',
  waitsFor: [],
});

/** A cluster that has the kind FleetAgent and takes its status. */
const cluster = () => {
  const api = memoryApi();
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleet' } });
  const type = { ...SHOWN, plural: 'fleetagents', isNamespaced: true };
  const shows: KubernetesApi = {
    ...api,
    typeOf: () => Promise.resolve(type as never),
    patch: async (ref, changes, signal) => {
      const before = await api.read(ref, signal);
      const [change] = changes as readonly { readonly value: unknown }[];
      return before && api.replace({ ...before, status: change?.value }, signal);
    },
  };
  const agent = (who: string): Target =>
    kubernetesTarget({
      open: () => Promise.resolve(shows),
      fleet: 'acme',
      lease: { namespace: 'fleet', who: `${who}, process 7 on box`, place: () => undefined },
      healthTimeoutMs: 1000,
      stepTimeoutMs: 1000,
      adopt: 'ifUnowned',
      copies: {} as never,
    });
  const shown = async (): Promise<unknown> => {
    const object = await api.read(SHOWN, NEVER);
    return (object?.['status'] as { readonly agent?: string } | undefined)?.agent;
  };
  const condition = async () => {
    const object = await api.read(SHOWN, NEVER);
    const status = object?.['status'] as
      | { readonly conditions: readonly { readonly lastTransitionTime: string; readonly message: string }[] }
      | undefined;
    return status?.conditions[0];
  };
  const since = async () => (await condition())?.lastTransitionTime;
  const remove = async (): Promise<void> => {
    const object = await api.read(SHOWN, NEVER);
    if (object) api.drop(object);
  };
  const events = async (): Promise<readonly unknown[]> => {
    const { items } = await api.list({ apiVersion: 'v1', kind: 'Event' }, { namespace: 'fleet' }, NEVER);
    return items.map((one) => one['message']);
  };
  return { agent, shown, condition, since, remove, events };
};

describe('the object FleetAgent of a fleet with two agents', () => {
  it('shows the agent that worked on the cluster last, and the other one names it', async () => {
    const { agent, shown } = cluster();
    const [first, second] = [agent('plant-7/line-1'), agent('plant-7/line-2')];
    const show = (target: Target, who: string, minute: number) =>
      target.show?.(factsOf(who, `2026-11-29T10:0${minute}:00Z`), [], NOW, NEVER);
    expect(await show(first, 'plant-7/line-1', 0)).toEqual([]);
    await first.exclusive?.(NEVER, async () => {
      expect(await show(first, 'plant-7/line-1', 1)).toEqual([]);
      expect(await show(second, 'plant-7/line-2', 1)).toEqual([
        expect.stringContaining('FleetAgent acme shows plant-7/line-1'),
      ]);
      expect(await shown()).toBe('plant-7/line-1');
    });
    expect(await show(second, 'plant-7/line-2', 2)).toHaveLength(1);
    expect(await shown()).toBe('plant-7/line-1');
    // An agent that starts again is the same agent.
    expect(await show(agent('plant-7/line-1'), 'plant-7/line-1', 3)).toEqual([]);
    await second.exclusive?.(NEVER, async () => {});
    expect(await show(second, 'plant-7/line-2', 4)).toEqual([]);
    expect(await show(first, 'plant-7/line-1', 4)).toHaveLength(1);
    expect(await shown()).toBe('plant-7/line-2');
  });
});

it('of two agents, the one that worked on the cluster last writes events', async () => {
  const { agent, events } = cluster();
  const [first, second] = [agent('plant-7/line-1'), agent('plant-7/line-2')];
  const happened = (message: string): readonly Happening[] => [
    {
      id: message.padStart(64, '0'),
      at: '2026-11-29T10:00:00Z',
      isWarning: false,
      reason: 'Applied',
      message,
    },
  ];
  const show = (target: Target, who: string, message: string) =>
    target.show?.(factsOf(who, '2026-11-29T10:00:00Z'), happened(message), NOW, NEVER);
  await first.exclusive?.(NEVER, async () => {});
  await show(first, 'plant-7/line-1', 'one');
  await show(second, 'plant-7/line-2', 'two');
  await second.exclusive?.(NEVER, async () => {});
  await show(second, 'plant-7/line-2', 'three');
  await show(first, 'plant-7/line-1', 'four');
  expect(await events()).toEqual(['one', 'three']);
});

it('an object FleetAgent that somebody deleted returns with the next look', async () => {
  const { agent, shown, remove } = cluster();
  const target = agent('plant-7/line-1');
  const lookAt = (second: number) =>
    target.show?.(factsOf('plant-7/line-1', `2026-11-29T10:00:0${second}Z`), [], NOW, NEVER);
  await lookAt(0);
  await remove();
  await lookAt(0);
  expect(await shown()).toBe(undefined);
  await lookAt(1);
  expect(await shown()).toBe('plant-7/line-1');
});

it('the condition of the object FleetAgent has the time of the clock of the agent', async () => {
  const { agent, since } = cluster();
  await agent('plant-7/line-1').show?.(factsOf('plant-7/line-1', '2026-11-29T10:00:00Z'), [], NOW, NEVER);
  expect(await since()).toBe('2030-01-02T03:04:05Z');
});

it('a text that is too long for the object FleetAgent ends with a whole character', async () => {
  const { agent, condition } = cluster();
  const waitsFor = [`${'x'.repeat(510)}🔧 of line 1`];
  const facts = { ...factsOf('plant-7/line-1', '2026-11-29T10:00:00Z'), waitsFor };
  await agent('plant-7/line-1').show?.(facts, [], NOW, NEVER);
  expect((await condition())?.message).toBe(`${'x'.repeat(510)}…`);
});
