import { beforeAll, describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { formatError } from '#bundles/errors';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import type { SiteAgent } from '#bundles/formats/statements/predicates';
import { sealToSites } from '../../../../exporter/plan/seal/seal-to-sites.ts';
import { collect, inMemory, piecesOf, readAll, refusal } from '../../../bundles/trust/age/in-memory.ts';

let ids: readonly AgeIdentity[];
beforeAll(async () => {
  ids = await Promise.all(Array.from({ length: 4 }, generateAgeIdentity));
});

const agentOf = (name: string, at?: number): SiteAgent => {
  const recipient = at === undefined ? undefined : ids[at]?.recipient;
  return { name, ...(recipient !== undefined && { recipient }) } as SiteAgent;
};

describe('sealToSites', () => {
  it('seals to the agents of the sites and to the given recipients, and to no others', async () => {
    const sites = [
      { site: 'plant-7', agents: [agentOf('line-1', 0)] },
      { site: 'plant-9', agents: [agentOf('line-1', 1)] },
    ];
    const { seal, sealedSize } = await sealToSites(sites, [ids[2]?.recipient ?? '']);
    const sealed = await collect(seal(piecesOf(Buffer.from('a part'))));
    expect(sealed.byteLength).toBe(sealedSize(6));
    for (const { identity } of ids.slice(0, 3)) {
      await using opened = await openAge(inMemory(sealed), [identity]);
      expect((await readAll(opened)).toString()).toBe('a part');
    }
    const stranger = await refusal(() => openAge(inMemory(sealed), [ids[3]?.identity ?? '']));
    expect(stranger.code).toBe('NOT_A_RECIPIENT');
  });

  it('refuses agents that have reported no recipient', async () => {
    const sites = [{ site: 'plant-7', agents: [agentOf('line-1', 0), agentOf('line-2'), agentOf('line-3')] }];
    const error = await refusal(() => sealToSites(sites, []));
    expect(error.code).toBe('RECIPIENT_MISSING');
    expect(formatError(error)).toContain('plant-7/line-2, plant-7/line-3 have reported no age recipient');
    expect(error.hint).toContain('fleet-agent enroll');
  });

  it('refuses to seal without a recipient', async () => {
    const error = await refusal(() => sealToSites([], []));
    expect(error).toMatchObject({ code: 'RECIPIENT_MISSING', subject: '--encrypt' });
    expect(error.hint).toContain('--site');
  });
});
