import { defined } from '#bundles/defined';
import type { FastifyRequest } from 'fastify';
import { FleetError, formatError } from '#bundles/errors';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import { parseName } from '#bundles/names';
import type { Documents } from '#bundles/schemas/documents';
import { formatTime } from '#bundles/time';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import { checkReason } from '../../../release/audit/decide.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';
import { appendChanges } from '../../changes/append-changes.ts';
import type { Hub } from '../../hub.ts';
import { parseLimit } from '../../page.ts';
import type { Principal } from '../../people/principal.ts';
import { sightOf } from '../../people/sight.ts';
import { answerOpenValues } from '../../promote/values/answer-open-values.ts';
import { answerSelection } from '../../promote/values/answer-selection.ts';
import { answerSiteValues, seesSite } from '../../promote/values/answer-site-values.ts';
import { answerValuesTree } from '../../promote/values/answer-values-tree.ts';
import {
  draftValuesApproval,
  rejectValues,
  takeValuesApproval,
} from '../../promote/values/approve-values.ts';
import { type Conflict, refuseConflicts, resolveAsked } from '../../promote/values/asked-values.ts';
import { checkChanges, decidesInRepository, decideValues } from '../../promote/values/change-values.ts';
import {
  answerWritten,
  decideInRepository,
  type OpenValues,
  toSelected,
  type ValuesWriter,
} from '../../promote/values/decide-in-repository.ts';
import { listProposals, rightsOver } from '../../promote/values/list-proposals.ts';
import { listVersions } from '../../promote/values/list-versions.ts';
import { previewValues, toFault } from '../../promote/values/preview-values.ts';
import { findProposal, shortId } from '../../promote/values/propose-values.ts';
import { type ReachedEditors, reachedEditors } from '../../promote/values/reached-editors.ts';
import { placesOf } from '../../promote/values/rules-for.ts';
import { mayChange, mayChangeSelected, seesValues } from '../../promote/values/values-access.ts';
import { parseSelect } from '../../sites/select-sites.ts';
import { siteMissing, type ValueChange } from '../../sites/set-values.ts';
import { auditedCaller, notAllowed, principalOf } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import { createAnswerOnce } from '../decisions/answer-once.ts';
import type { HubServer } from '../hub-server.ts';
import { readQuery, sendFacts } from '../readers/history-routes.ts';

const VALUES_PATH = '/v1/values';
const PER_MINUTE = 600;
/** 256 values, some of them lists, or the versions of 10,000 sites. */
const BODY_BYTES = 1 << 20;
/** Longer than the hub's own writes of the layout take. */
const LOG_WAIT_MS = 5_000;
const MAX_VERSIONS = 100;

export type ValuesOptions = {
  /** How many people approve a change; undefined: none. */
  readonly review: ValuesReview | undefined;
  /** Read for each decision: officers may install a new root while the hub runs. */
  readonly readKeys: () => Promise<KeyDirectory>;
  /** Writes values into the repository of the platform, where that decides; undefined: the hub has none. */
  readonly write?: ValuesWriter | undefined;
  /** Open proposals there. */
  readonly open?: OpenValues | undefined;
};

type Asked<Body> = {
  readonly hub: Hub;
  readonly body: Body;
  readonly caller: Principal;
  readonly person: string;
  readonly now: Date;
};

/** Adds the routes about values of sites: for the form of the page, and for pipelines (docs/hub-api.md). */
export const valuesRoutes = (
  server: HubServer,
  context: Context,
  { review, readKeys, write, open }: ValuesOptions,
): void => {
  const { clock, onSiteChange } = context;
  const answerOnce = createAnswerOnce(context.hub.store, clock);
  const config = { rateLimit: { max: PER_MINUTE, timeWindow: 60_000 }, access: { for: 'values' } as const };

  const read = (path: string, answer: (request: FastifyRequest) => Promise<object>): void => {
    server.get(`${VALUES_PATH}${path}`, { config }, async (request, reply) =>
      sendFacts(request, reply, await answer(request)),
    );
  };

  const decide = <Name extends DocumentName>(
    path: string,
    schema: Name,
    work: (asked: Asked<Documents[Name]>) => Promise<object>,
    isDecision = true,
  ): void => {
    server.post(
      `${VALUES_PATH}${path}`,
      {
        config,
        bodyLimit: BODY_BYTES,
      },
      async (request) => {
        const body = parseDocument(schema, request.body ?? {}, 'the request');
        const caller = principalOf(request);
        const { id, person = id } = caller;
        const run = async (): Promise<object> => {
          const hub = isDecision ? { ...context.hub, keys: await readKeys() } : context.hub;
          return work({ hub, body, caller, person, now: clock() });
        };
        if (!isDecision) return await run();
        const answer = await answerOnce(request, { tokenId: id, body }, run);
        request.log.info({ ...auditedCaller(caller), route: path }, 'decided about values');
        return answer;
      },
    );
  };

  /** Statements of sites go to the layout by the loop; entries of the audit log at once, or with the next change. */
  const carryOut = async (hub: Hub, now: Date): Promise<void> => {
    onSiteChange();
    const { waiting } = await appendChanges(hub, { command: 'values', now, waitMs: LOG_WAIT_MS });
    if (waiting) server.log.warn({ why: formatError(waiting) }, 'an entry for the audit log waits');
  };

  read('/tree', async (request) => {
    const { select, limit, cursor } = readQuery(request, ['select', 'limit', 'cursor']);
    const { allowances } = principalOf(request);
    const labels = select === undefined ? {} : parseSelect([select]);
    const asked = { allowances, select: labels };
    const answer = await answerValuesTree(context.hub, asked, { limit: parseLimit(limit), cursor });
    return { at: formatTime(clock()), ...answer };
  });

  read('/selection', async (request) => {
    const { select, agents } = readQuery(request, ['select', 'agents']);
    if (select === undefined)
      throw new FleetError('USAGE', 'a selection names labels', { hint: 'Add ?select=region=north' });
    const asked = { select: parseSelect([select]), agents: agents === 'true' };
    const answer = await answerSelection(context.hub, asked, principalOf(request).allowances);
    return { at: formatTime(clock()), ...answer };
  });

  read('/sites/:site', async (request) => {
    const [site, principal] = [siteOf(request), principalOf(request)];
    const answer = await answerSiteValues(context.hub, site, principal.allowances);
    if (!answer) throw siteNotSeen(principal, site);
    return { at: formatTime(clock()), ...answer };
  });

  // Beside the form, which does not wait for a forge.
  read('/sites/:site/open', async (request) => {
    const [site, principal] = [siteOf(request), principalOf(request)];
    const answer = await answerOpenValues({ hub: context.hub, open }, site, principal.allowances);
    if (!answer) throw siteNotSeen(principal, site);
    return { at: formatTime(clock()), ...answer };
  });

  read('/sites/:site/versions', async (request) => {
    const { limit } = readQuery(request, ['limit']);
    const [site, principal] = [siteOf(request), principalOf(request)];
    if (!(await seesSite(context.hub, site, principal.allowances))) throw siteNotSeen(principal, site);
    const versions = await listVersions(context.hub, site, Math.min(parseLimit(limit), MAX_VERSIONS));
    return { at: formatTime(clock()), site, versions };
  });

  decide(
    '/preview',
    'hub-decisions#values-change',
    async ({ hub, body: { reason: _, ...asked }, caller }) => {
      const changes = await resolveAsked(hub, asked);
      const editors = await editorsOfChanges(hub, changes);
      const refused = findRefused(editors, { caller, ofMany: asked.select !== undefined });
      const [first] = refused;
      if (first && asked.select === undefined) throw first.error;
      const preview = await previewValues(hub, changes, { seen: asked.sites ?? asked.version, review });
      // Of many sites each one that is refused is named, so that the others can be changed without them.
      const faults = refused.map(({ error, ...place }) => ({ ...place, ...toFault(error) }));
      return { ...preview, faults: [...faults, ...preview.faults] };
    },
    false,
  );

  decide(
    '/changes',
    'hub-decisions#values-change',
    async ({ hub: own, body: { reason, ...asked }, caller, person, now }) => {
      const by = { person, reason: checkReason(reason ?? '') };
      const hub: Hub = { ...own, store: { ...own.store, by } };
      const wanted = await resolveAsked(hub, asked);
      const editors = await editorsOfChanges(hub, wanted);
      const [refused] = findRefused(editors, { caller, ofMany: asked.select !== undefined });
      if (refused) throw refused.error;
      const { changes, problems } = await checkChanges(
        hub,
        wanted.map((change) => ({ change })),
        false,
      );
      const [problem] = problems;
      if (problem) throw problem;
      const within = refuseConflicts(changes, asked.sites ?? asked.version);
      const change = asked.to === undefined ? 'sites set' : 'sites values rollback';
      // A rollback changes what the hub decided, also where the repository decides now, and withdraws changes that wait for a stage.
      const back = asked.to !== undefined && asked.site !== undefined;
      if (!back && write && decidesInRepository(review)) {
        await hub.store.transact(within);
        // A Config for labels also reaches agents that get them later, so a right for the sites that have them now is not enough.
        const roles = editors.flatMap((one) => one.roles);
        const isWhole = asked.select && mayChangeSelected(caller.allowances, asked.select, roles);
        const selected = isWhole ? asked : {};
        const repository = await decideInRepository(hub, toSelected(selected, changes), {
          write,
          review,
          now,
        });
        await carryOut(hub, now);
        return answerWritten(repository);
      }
      const terms = defined({ here: back || undefined, withdraw: back ? [asked.site ?? ''] : undefined });
      const decided = await decideValues(hub, changes, {
        allowUnknown: false,
        now,
        review,
        change,
        within,
        ...terms,
      });
      await carryOut(hub, now);
      switch (decided.kind) {
        case 'proposed': {
          const { row, conditions } = decided.proposal;
          const waits = conditions.map(({ name, wanted: needed }) => `${name}: ${needed}`);
          return { outcome: 'proposed', sites: [], rollouts: [], proposal: row.id, waits };
        }
        case 'made': {
          const sites = decided.rows.map(({ name, version }) => ({ site: name, version }));
          const rollouts = decided.rollouts.map(({ id: rollout }) => rollout);
          const outcome = sites.length + rollouts.length === 0 ? 'unchanged' : 'made';
          return { outcome, sites, rollouts, proposal: null, waits: [] };
        }
      }
    },
  );

  read('/proposals', async (request) => {
    const { allowances, id, person = id } = principalOf(request);
    const hub = { ...context.hub, keys: await readKeys() };
    return { at: formatTime(clock()), proposals: await listProposals(hub, { allowances, person }, review) };
  });

  /** The proposal, if the caller sees it. @throws FleetError NOTHING_AWAITING */
  const proposalOf = async (hub: Hub, { allowances, id, person = id }: Principal, proposal: string) => {
    const found = await findProposal(hub.store.db, proposal);
    const rights = await rightsOver(hub, found, { allowances, person });
    if (rights.sees) return { found, rights };
    throw new FleetError('NOTHING_AWAITING', `no proposal ${JSON.stringify(proposal.slice(0, 80))} waits`, {
      hint: 'See them with: fleet-scheduler sites values proposals',
    });
  };

  read('/approval', async (request) => {
    const { proposal = '', person, reason = '' } = readQuery(request, ['proposal', 'person', 'reason']);
    if (person === undefined || person.trim() === '')
      throw new FleetError('USAGE', 'an approval names its person', { hint: 'Add ?person=' });
    const hub = { ...context.hub, keys: await readKeys() };
    const { found } = await proposalOf(hub, principalOf(request), proposal);
    const now = clock();
    const statement = await draftValuesApproval(hub, { id: found.row.id, person, reason, now }, review);
    return JSON.parse(statement.toString()) as object;
  });

  decide('/approvals', 'hub-decisions#approve', async ({ hub, body: { statement }, caller, now }) => {
    // The signature identifies the approver; the caller needs only the right to see the proposal.
    const see = async (id: string): Promise<void> => void (await proposalOf(hub, caller, id));
    const taken = await takeValuesApproval(hub, statement, { now, see }, review);
    await carryOut(hub, now);
    const { row, applied, conditions, approver } = taken;
    return {
      proposal: row.id,
      person: approver,
      outcome: applied ? 'made' : 'waiting',
      sites: (applied ?? []).map(({ name, version }) => ({ site: name, version })),
      waits: conditions.filter(({ met }) => !met).map(({ name, wanted }) => `${name}: ${wanted}`),
    };
  });

  decide('/rejections', 'hub-decisions#values-reject', async ({ hub, body, caller, person, now }) => {
    const reason = checkReason(body.reason);
    const { found, rights } = await proposalOf(hub, caller, body.proposal);
    if (!rights.mayReject) throw notAllowed(caller, `rejecting ${shortId(found.row.id)}`);
    const { row } = await rejectValues(hub, found.row.id, { person, reason }, now);
    await carryOut(hub, now);
    return { proposal: row.id, person, reason };
  });
};

const siteOf = ({ params }: FastifyRequest): string =>
  parseName((params as { readonly site?: string }).site ?? '', 'site');

/** A caller who may not see all sites gets the same refusal for a hidden site and for one that does not exist. */
const siteNotSeen = (principal: Principal, site: string): FleetError =>
  sightOf(principal.allowances) === undefined
    ? siteMissing(site)
    : notAllowed(principal, `seeing values of ${site}`);

const editorsOfChanges = async (
  hub: Hub,
  changes: readonly ValueChange[],
): Promise<readonly ReachedEditors[]> => {
  const [editors = []] = await reachedEditors(hub, [placesOf(changes)]);
  return editors;
};

/**
 * The values that the caller may not change where they are to change: TOKEN_SCOPE, ROLE_MISSING.
 * @param ofMany the sites were selected by labels: those that the caller does not see are counted, and not named
 * @throws FleetError TOKEN_SCOPE, ROLE_MISSING for sites that the caller does not see
 */
const findRefused = (
  editors: readonly ReachedEditors[],
  { caller, ofMany }: { readonly caller: Principal; readonly ofMany: boolean },
): readonly Conflict[] => {
  const unseen = new Set<string>();
  const refused = editors.flatMap(({ place, agents, roles }) => {
    const { site, agent, name } = place;
    if (!agents.some((one) => seesValues(caller.allowances, one))) unseen.add(site);
    if (mayChange(caller.allowances, { site, agents }, roles)) return [];
    const role = roles.find((one) => one !== undefined);
    const whose = agent === null ? `${site}, which reaches all its agents` : `${site}/${agent}`;
    const what = `changing the value ${name} of ${whose}${role === undefined ? '' : ` (editableBy: ${role})`}`;
    return [{ ...place, error: notAllowed(caller, what) }];
  });
  const hidden = new Set(refused.map(({ site }) => site).filter((site) => unseen.has(site)));
  if (ofMany && hidden.size > 0)
    throw notAllowed(caller, `changing values of ${hidden.size} more sites with these labels`);
  return refused;
};
