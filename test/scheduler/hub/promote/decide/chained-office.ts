import { join } from 'node:path';
import { readPromotion } from '../../../../../scheduler/hub/promote/facts/link.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { type AuditEntry, readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { Chain } from '../../../../../scheduler/hub/promote/decide/chain.ts';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { ours } from '../../../fleet-platform.ts';
import { makeBuiltOffice, type Office } from '../../../release/removals/office.ts';

export type ChainedOffice = Office & {
  readonly openChain: () => Promise<Chain>;
  readonly entries: () => Promise<readonly AuditEntry[]>;
};

const CHAIN = ours(
  'Fleet',
  'halden',
  'spec:\n  environments: [{name: qa}, {name: prod, promotedFrom: qa}]\n',
);

/** An office whose prod is promoted from qa, and qa is built. @param policies files below promotion/ */
export const chainedOffice = async (
  policies: Readonly<Record<string, string>> = {},
): Promise<ChainedOffice> => {
  const office = await makeBuiltOffice({ ...policies, 'platform/fleet.yaml': CHAIN }, 'qa');
  const { folder, layout } = office;
  const { signal } = new AbortController();
  const openChain = async (): Promise<Chain> => {
    const platform = { platform: join(folder, 'platform'), maps: [], cacheDirectory: join(folder, 'cache') };
    const promotion = await readPromotion({ ...platform, env: {}, signal });
    const keys = await openKeyDirectory(join(folder, 'keys'));
    return { hub: { keys, layout, store: undefined }, promotion };
  };
  const entries = async () => {
    const { roots } = await openKeyDirectory(join(folder, 'keys'));
    return (await readAuditLog(await openOrStartLayout(layout), roots)).entries;
  };
  return { ...office, openChain, entries };
};

/** A second state of what environments share, built in qa. */
export const changeShared = async (office: ChainedOffice, now: Date): Promise<void> => {
  await office.edit('apps/labels/host/package.yaml', (text) =>
    text.replace('/opt/labels', '/opt/labels/two'),
  );
  await office.build({ environments: ['qa'], now });
};
