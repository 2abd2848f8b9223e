import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import type { Documents } from '#bundles/schemas/documents';
import { parseName } from '#bundles/names';
import { appendApproval, draftApproval } from '../../promote/decide/approve-for.ts';
import type { Chain } from '../../promote/decide/chain.ts';
import { pauseOrResume, rejectFor } from '../../promote/decide/decide-about.ts';
import { promotedJson, promoteTo } from '../../promote/decide/promote-to.ts';
import { submitCandidate } from '../../promote/decide/submit-candidate.ts';
import { rollBackTo } from '../../promote/decide/roll-back-to.ts';
import { assess, parseCandidate, readDecided } from '../../promote/gate/assess.ts';
import { awaitArrivalWithin, checkArrival } from '../../promote/gate/await-arrival.ts';
import { describeCandidate } from '../../promote/gate/describe-candidate.ts';
import { verdictJson } from '../../promote/gate/describe-verdict.ts';
import { listCandidateChanges } from '../../promote/gate/list-changes.ts';
import { linkTo } from '../../promote/facts/link.ts';
import { listPromotions } from '../../promote/decide/list-promotions.ts';
import { parseLimit } from '../../page.ts';
import { limitVerdict } from '../../promote/judge/judge-limits.ts';
import { auditedCaller, environmentOf, principalOf, visibleTo } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import { readQuery, sendFacts } from '../readers/history-routes.ts';
import type { HubServer } from '../hub-server.ts';
import { boundWaits } from './bound-waits.ts';
import { createAnswerOnce } from './answer-once.ts';
import { checkApproval, checkRejection, describeLimits, limitsOf } from './limited-deciders.ts';
import type { Asked, DecisionOptions, DecisionRoute, DecisionServer } from './decision-server.ts';
import { rolloutRoutes, valuesRolloutRoutes } from './rollout-routes.ts';

export const ENVIRONMENT_PATH = '/v1/environments/:environment';
const PER_MINUTE = 300;
const BODY_BYTES = 64 << 10;
/** A candidate has some hundred bytes for each folder that was read. */
const CANDIDATE_BYTES = 2 << 20;

/** Adds the routes for deciding about environments (docs/hub-api.md). They exist where a platform is configured. */
export const decisionRoutes = (server: HubServer, context: Context, options: DecisionOptions): void => {
  const answerOnce = createAnswerOnce(context.hub.store, context.clock);
  const rateLimit = { max: PER_MINUTE, timeWindow: 60_000 };
  const routes: DecisionServer = {
    context,
    options,
    read: (path, answer, byWorkspace) => {
      server.get(
        `${ENVIRONMENT_PATH}${path}`,
        { config: { rateLimit, access: { for: 'environment', byWorkspace } } },
        async (request, reply) => sendFacts(request, reply, await answer(request)),
      );
    },
    decide: <Name extends DocumentName>(
      path: string,
      { verb, schema, maxBytes = BODY_BYTES, byAssignment = false, byWorkspace }: DecisionRoute<Name>,
      work: (asked: Asked<Documents[Name]>) => Promise<object>,
    ) => {
      server.post(
        `${ENVIRONMENT_PATH}${path}`,
        {
          config: { rateLimit, access: { for: 'environment', verb, byAssignment, byWorkspace } },
          bodyLimit: maxBytes,
        },
        async (request) => {
          const body = parseDocument(schema, request.body ?? {}, 'the request');
          const caller = principalOf(request);
          const { id, person = id } = caller;
          const environment = environmentOf(request);
          const run = (repeats: Date | undefined): Promise<object> => {
            const decision = { environment, person, now: context.clock(), signal: options.signal, repeats };
            return work({ decision, body, request });
          };
          const answer = await answerOnce(request, { tokenId: id, body }, run);
          options.wake();
          request.log.info({ ...auditedCaller(caller), environment, verb }, 'decided');
          return answer;
        },
      );
    },
  };
  gateRoutes(routes);
  rolloutRoutes(routes);
  valuesRolloutRoutes(routes);
};

const gateRoutes = ({ context, options, read, decide }: DecisionServer): void => {
  const { signal } = options;
  const waits = boundWaits(signal);
  const open = async (fresh: boolean): Promise<Chain> => {
    const { layout, store } = context.hub;
    const keys = await options.readKeys();
    return {
      hub: { keys, layout, store, readChanges: options.openChanges?.(fresh) },
      promotion: await options.readPromotion(fresh),
    };
  };

  read(
    '/gate',
    async (request) => {
      const { hub, promotion } = await open(false);
      const { candidate } = readQuery(request, ['candidate']);
      const question = { now: context.clock(), signal, candidate: parseCandidate(candidate), asks: null };
      const link = linkTo(promotion, environmentOf(request));
      const { verdict, candidate: judged } = await assess(hub, link, question);
      const limits = limitsOf(request, 'approve');
      const shown = request.workspaces && limits ? limitVerdict(verdict, limits) : verdict;
      return {
        ...verdictJson(shown, judged.candidate),
        about: await describeCandidate(hub, {
          link,
          shared: judged.shared,
          visible: await visibleTo(request, context),
          readCommit: options.readCommit,
        }),
        ...defined({
          limited: limits
            ? await describeLimits({ hub, link, verdict, limits }, judged.candidate, signal)
            : undefined,
        }),
      };
    },
    'approve',
  );

  read(
    '/changes',
    async (request) => {
      const { hub, promotion } = await open(false);
      const { candidate: named } = readQuery(request, ['candidate']);
      const link = linkTo(promotion, environmentOf(request));
      const question = { signal, candidate: parseCandidate(named) };
      const { candidate } = (await readDecided(hub, link, question)).candidate;
      return listCandidateChanges(
        { ...hub, store: context.hub.store },
        { environment: link.to, candidate },
        { now: context.clock(), visible: await visibleTo(request, context), signal },
      );
    },
    'approve',
  );

  read('/arrival', async (request) => {
    const { hub, promotion } = await open(false);
    const { candidate: named, wait } = readQuery(request, ['candidate', 'wait']);
    const which = { environment: environmentOf(request), candidate: parseCandidate(named) };
    const arrival =
      wait === undefined
        ? await checkArrival(hub, promotion, { ...which, now: context.clock(), signal })
        : await waits.wait(request, wait, (more) =>
            awaitArrivalWithin(hub, promotion, { ...which, ...more, clock: context.clock }),
          );
    return { environment: which.environment, ...arrival };
  });

  read('/promotions', async (request) => {
    const { limit, cursor } = readQuery(request, ['limit', 'cursor']);
    const { keys, layout } = (await open(false)).hub;
    return listPromotions({ keys, layout }, environmentOf(request), { limit: parseLimit(limit), cursor });
  });

  read(
    '/approval',
    async (request) => {
      const { candidate, stage, person, reason } = readQuery(request, [
        'candidate',
        'stage',
        'person',
        'reason',
      ]);
      const limits = limitsOf(request, 'approve');
      if (person === undefined || person.trim() === '')
        throw new FleetError('USAGE', 'an approval names its person', { hint: 'Add ?person=' });
      const statement = await draftApproval(await open(false), {
        environment: environmentOf(request),
        candidate: parseCandidate(candidate),
        stage: stage === undefined ? undefined : parseName(stage, 'stage'),
        workspaces: limits?.workspaces,
        person,
        reason: reason ?? '',
        now: context.clock(),
        signal,
      });
      return JSON.parse(statement.toString()) as object;
    },
    'approve',
  );

  decide(
    '/candidates',
    { verb: 'submit', schema: 'hub-decisions#submit', maxBytes: CANDIDATE_BYTES },
    async ({ decision, body: { candidate, reason } }) => {
      const document = candidate === null ? null : parseDocument('candidate', candidate, 'candidate');
      return submitCandidate(await open(true), { ...decision, candidate: document, reason });
    },
  );

  decide(
    '/promotions',
    { verb: 'promote', schema: 'hub-decisions#promote' },
    async ({ decision, body: { candidate, reason = null }, request }) =>
      promotedJson(
        await promoteTo(await open(true), { ...decision, candidate, reason }, ({ verdict }) => {
          request.verdict = verdict;
        }),
      ),
  );

  decide(
    '/approvals',
    { verb: 'approve', schema: 'hub-decisions#approve', byWorkspace: 'approve' },
    async ({ decision, body, request }) => {
      const chain = await open(true);
      const check = checkApproval(chain, request, signal);
      const { stage, workspaces, ...approved } = await appendApproval(chain, body.statement, decision, check);
      return { ...approved, stage: stage ?? null, workspaces: workspaces ?? null };
    },
  );

  decide(
    '/rejections',
    { verb: 'reject', schema: 'hub-decisions#reject', byWorkspace: 'reject' },
    async ({ decision, body: { candidate, reason }, request }) => {
      const chain = await open(true);
      return rejectFor(chain, { ...decision, candidate, reason }, checkRejection(chain, request, signal));
    },
  );

  for (const decision of ['pause', 'resume'] as const)
    decide(
      `/${decision}`,
      { verb: decision, schema: 'hub-decisions#reason' },
      async ({ decision: decided, body: { reason } }) =>
        pauseOrResume(await open(true), decision, { ...decided, reason }),
    );

  decide(
    '/rollback',
    { verb: 'rollback', schema: 'hub-decisions#reject' },
    async ({ decision, body: { candidate, reason } }) =>
      rollBackTo(await open(true), { ...decision, candidate, reason }),
  );
};
