import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import { digestOf } from '#bundles/digest';
import { formatError, isFleetError, toFleetError } from '#bundles/errors';
import { openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import type { Hub } from '../hub.ts';
import { type ComposedSites, composeSites, writeComposed } from '../sites/layers/compose-sites.ts';
import { stepValues } from '../promote/values/step-values.ts';
import { siteSigner } from '../sites/site-signer.ts';
import { faultFields } from '../watch/fault-fields.ts';
import type { Term } from './lead.ts';

export type ComposerOptions = {
  readonly hub: Hub;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
};

export type LayerComposer = {
  /** Never throws. @param waitMs how long it waits for another writer of the layout, before it leaves the statements to a later round; by default not at all */
  readonly round: (term: Term, waitMs?: number) => Promise<void>;
  /** The sites that got other values and were laid out since the last call, in whichever rounds. */
  readonly takeLaidOut: () => readonly string[];
};

/**
 * Composes the values of sites when releases, statements about them, or enrolled agents changed since the last round. Statements that
 * could not be laid out, because a build holds the layout, are laid out in a later round. Each round steps the rollouts of values. A call during a round
 * begins its own after it.
 */
export const createLayerComposer = ({ hub, clock, log }: ComposerOptions): LayerComposer => {
  let composed: string | undefined;
  let logged: ReadonlySet<string> = new Set();
  const pending = new Set<string>();
  const laidOut = new Set<string>();
  const logResult = ({ changed, held, lacking, advice }: ComposedSites): void => {
    if (changed.length > 0)
      log.info(
        { sites: changed.length, first: changed.slice(0, 5).map(({ site }) => site) },
        'sites composed',
      );
    const now = new Set<string>();
    const all = [
      ...held.flatMap(({ site, reasons }) =>
        reasons.map((error) => ({ error, more: { site }, what: 'site keeps its values' })),
      ),
      ...lacking.flatMap(({ site, reasons }) =>
        reasons.map((error) => ({ error, more: { site }, what: 'package waits for values of the site' })),
      ),
      ...advice.map((error) => ({ error, more: {}, what: 'sites differ from the repository' })),
    ];
    for (const { error, more, what } of all) {
      const text = formatError(error);
      now.add(text);
      if (!logged.has(text)) log.warn({ ...more, ...faultFields(error) }, what);
    }
    logged = now;
  };
  const round = async ({ confirm, signal }: Term, waitMs: number): Promise<void> => {
    if ((await markOf(hub)) !== composed) {
      await confirm();
      const result = await composeSites(hub, await siteSigner(hub), { now: clock(), signal });
      logResult(result);
      for (const { site } of result.changed) pending.add(site);
      composed = await markOf(hub);
    }
    for (const stepped of await stepValues(hub, { now: clock(), signal }))
      log.info(
        defined(stepped),
        stepped.why === undefined ? 'rollout of values' : 'rollout of values decided',
      );
    await writeComposed(hub, { now: clock(), command: 'serve', waitMs });
    for (const site of pending) laidOut.add(site);
    pending.clear();
  };
  const attempt = async (term: Term, waitMs: number): Promise<void> => {
    try {
      await round(term, waitMs);
    } catch (error) {
      if (term.signal.aborted) return;
      if (isFleetError(error, 'BUSY')) log.info({ why: error.message }, 'composed sites not laid out yet');
      else log.error(faultFields(toFleetError(error, 'composing the values of sites')), 'sites not composed');
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    round: (term, waitMs = 0) => {
      last = last.then(() => attempt(term, waitMs));
      return last;
    },
    takeLaidOut: () => {
      const sites = [...laidOut];
      laidOut.clear();
      return sites;
    },
  };
};

/** Changes with every release and statement of a channel, every site and enrolled agent, and every step of a rollout of layers. */
const markOf = async ({ layout, store: { db } }: Hub): Promise<string> => {
  const { manifests } = await openOrStartLayout(layout);
  const entries = manifests.flatMap((entry) => {
    const reference = referenceOf(entry) ?? '';
    return /:(?:release|restated-[0-9a-f]+)$/.test(reference) ? [`${reference} ${entry.digest}`] : [];
  });
  const agents = await db
    .selectFrom('agent')
    .select(['id', 'labels', 'environment', 'cluster_type', 'revoked_at'])
    .orderBy('id')
    .execute();
  const sites = await db.selectFrom('site').select(['name', 'version']).orderBy('name').execute();
  const rollouts = await db
    .selectFrom('values_rollout')
    .select(['id', 'state', 'progress'])
    .where('kind', '=', 'layers')
    .orderBy('number')
    .execute();
  const pins = await db.selectFrom('values_pin').select('environment').orderBy('environment').execute();
  return digestOf(JSON.stringify([entries, agents, sites, rollouts, pins]));
};
