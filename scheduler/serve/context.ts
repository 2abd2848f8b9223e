import type { Authority } from '#bundles/trust/certificate';
import type { SigningKey } from '#bundles/trust/key';
import type { Hub } from '../hub/hub.ts';
import type { SiteSigner } from '../hub/sites/issue-site.ts';
import type { Metrics } from './metrics.ts';
import type { Presence } from './note-presence.ts';

/** What every path of the hub works with. */
export type Context = {
  readonly hub: Hub;
  readonly authority: Authority;
  readonly signer: SiteSigner;
  readonly receiptKey: SigningKey;
  readonly clock: () => Date;
  readonly metrics: Metrics;
  readonly presence: Presence;
  /** A site has another statement: it is to be laid out and published. */
  readonly onSiteChange: () => void;
};
