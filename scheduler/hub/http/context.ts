import type { Authority } from '#bundles/trust/root/certificate';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { Hub } from '../hub.ts';
import type { SiteSigner } from '../sites/issue-site.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Presence } from './note-presence.ts';
import type { People } from '../people/people.ts';
import type { SetUp } from '../questions/answers/answer-first-steps.ts';

/** Dependencies shared by all routes of the hub. */
export type Context = {
  readonly hub: Hub;
  readonly authority: Authority;
  readonly signer: SiteSigner;
  readonly receiptKey: SigningKey;
  readonly clock: () => Date;
  readonly metrics: Metrics;
  readonly presence: Presence;
  /** Called when a site has a new statement, which must be written to the layout and published. */
  readonly onSiteChange: () => void;
  /** Of a hub with several replicas; undefined: it has none besides this one. */
  readonly leadership?: { readonly isLeading: () => boolean } | undefined;
  /** Parts that the configuration has; undefined: neither. */
  readonly setUp?: SetUp | undefined;
  /** Called when a report was stored. */
  readonly onReport: () => void;
};

/** The same for routes that need to know how people sign in. */
export type PeopleContext = Context & { readonly people: People };
