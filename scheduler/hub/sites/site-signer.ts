import { defined } from '#bundles/defined';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Hub } from '../hub.ts';
import type { NotedChange } from '../changes/note-change.ts';
import type { By } from '../store/open-store.ts';
import type { AgentRow } from '../store/tables.ts';
import { parseChannel } from '#bundles/names';
import type { KnownNeeds } from './read-needs.ts';
import { type HiddenAt, readHidden, showHidden } from './hidden-values.ts';
import { showPast } from './show-past.ts';
import { type OwnStatement, refuseOlder } from './refuse-older.ts';

/** The root and the release key, which signs site statements. */
export type SiteSigner = {
  readonly root: TrustRoot;
  readonly release: SigningKey;
  /** Refuses to follow a statement that is not the newest one that the layout has. @throws FleetError ROLLBACK */
  readonly checkOwn: (own: OwnStatement, floor: number) => Promise<void>;
  /** Values that decisions withhold, by the releases of agents. A signer process knows the same after it. */
  readonly readHidden: (agents: readonly AgentRow[]) => Promise<HiddenAt>;
  /** Person and reason of what is signed; undefined: the program, by a rule. */
  readonly by?: By;
  /** Opens the audit key, for a signer process that asks for the decision about values; undefined: there is none. */
  readonly audit?: () => Promise<SigningKey>;
  /** Changes noted about the values of this statement. */
  readonly decided?: readonly NotedChange[];
  /** Signed approvals of the values, and the document that they approve. */
  readonly approved?: readonly Uint8Array[];
};

/**
 * The newest root, the key that signs site statements, the layout that the database must not be behind, and who decides.
 * @throws FleetError as KeyDirectory.key
 */
export const siteSigner = async ({
  keys,
  layout,
  store,
}: Pick<Hub, 'keys' | 'layout'> & Partial<Pick<Hub, 'store'>>): Promise<SiteSigner> => ({
  root: keys.root,
  release: await keys.key('release'),
  checkOwn: async (own, floor) => refuseOlder(await openOrStartLayout(layout), own, floor),
  ...defined({ by: store?.by }),
  readHidden: async (agents) => {
    const needs: KnownNeeds = new Map();
    const hidden = await readHidden({ keys, layout }, agents, needs);
    await showHidden({ keys, layout }, needs);
    await showPast(
      { keys, layout },
      [...needs.keys()].map((name) => parseChannel(name)),
    );
    return hidden;
  },
  audit: () => keys.key('audit'),
});
