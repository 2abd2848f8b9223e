import type { SuccessResponse, ApiResponse, RequestOpts, WithHeaders } from '@oazapfts/runtime';
import { z } from 'zod';
import { defined } from '#bundles/defined';
import type { Sites } from '#bundles/schemas/types/hub-decisions';
import {
  alarmCauses,
  alarms,
  audit,
  compare,
  gate,
  history,
  search,
  sites,
  status,
  where,
  workloads,
} from '#bundles/transport/hub/client';

/** Sends one operation of the generated client to the hub. */
export type Ask = <T extends ApiResponse>(
  operation: (options: RequestOpts) => Promise<WithHeaders<T>>,
) => Promise<SuccessResponse<T>>;

type Page = { readonly limit: number; readonly cursor?: string };

/** A question that a tool answers. All read only. */
export type Question = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodRawShape;
  /** @param page most rows of the answer, and the end of the previous page */
  readonly answer: (ask: Ask, input: Readonly<Record<string, never>>, page: Page) => Promise<object>;
};

const question = <Shape extends z.ZodRawShape>(
  [name, title, description]: readonly [string, string, string],
  input: Shape,
  answer: (ask: Ask, input: z.infer<z.ZodObject<Shape>>, page: Page) => Promise<object>,
): Question => ({ name, title, description, input, answer: answer as Question['answer'] });

const NAME = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a DNS label of at most 63 characters');
const environment = NAME.optional().describe('Only this environment');
const site = NAME.optional().describe('Only this site');
const TIME = 'a time, a day, or how long ago: 2026-11-21T08:00:00Z, 2026-11-21, 12h, 7d';
const when = z.string().max(40).optional();

/** Sites that one answer judges at most; those that comply are left out of it. */
const SITES_READ = 1000;

const differs = ({ held, states }: Sites['sites'][number]): boolean =>
  held !== undefined ||
  states.some(
    ({ verdict, silent, stopped, freshness }) =>
      verdict !== 'complies' || silent || stopped || freshness === 'stale' || freshness === 'late',
  );

/** The questions, each named after what an operator asks. */
export const QUESTIONS: readonly Question[] = [
  question(
    [
      'what_runs_where',
      'What runs where',
      'Which version of a workload, assignment, site, agent or environment runs at which agents, and since when. With `at` as it was then.',
    ],
    {
      name: z
        .string()
        .min(1)
        .max(130)
        .optional()
        .describe('An environment, a site, `site/agent`, a workload or an assignment'),
      environment,
      site,
      at: when.describe(`The state at ${TIME}`),
    },
    (ask, input, page) => ask((options) => where({ ...input, ...page }, options)),
  ),
  question(
    [
      'which_versions_of_workloads',
      'Which versions of workloads',
      'The versions of each workload in each environment, and how many agents run, fail or drift.',
    ],
    { workload: z.string().max(63).optional(), environment },
    (ask, input, page) => ask((options) => workloads({ ...input, ...page }, options)),
  ),
  question(
    [
      'what_is_at_site',
      'What is at a site',
      'What each agent of a site should run and runs, its health with failed checks, drift, and the time of its last word.',
    ],
    { site: NAME.describe('Name of the site') },
    (ask, input, page) => ask((options) => status({ ...input, ...page }, options)),
  ),
  question(
    [
      'what_fails_and_why',
      'What fails and why',
      'Open alarms by cause, the worst first: code and failed checks, how many sites, since when, the owner, who works on it, and what to do.',
    ],
    {
      environment,
      site,
      workspace: NAME.optional().describe('Only alarms that this workspace owns'),
      severity: z.enum(['info', 'warning', 'critical']).optional(),
    },
    (ask, input, page) => ask((options) => alarmCauses({ ...input, ...page }, options)),
  ),
  question(
    [
      'where_does_a_cause_fail',
      'Where does a cause fail',
      'Each alarm of one cause of what_fails_and_why: agent, since when, and its summary.',
    ],
    {
      cause: z
        .string()
        .regex(/^cause_[0-9a-f]{40}$/)
        .describe('Its `id`'),
    },
    (ask, input, page) => ask((options) => alarms({ ...input, ...page }, options)),
  ),
  question(
    [
      'which_sites_differ',
      'Which sites differ',
      'Sites whose agents do not run what they should, or are late or silent, with the count of each verdict. Reads sites in the order of their names; `next` continues.',
    ],
    { environment },
    async (ask, input, { limit, cursor }) => {
      const differing: Sites['sites'][number][] = [];
      let next: string | null | undefined = cursor;
      let read = 0;
      for (;;) {
        const page: Sites = await ask((options) =>
          sites({ ...input, ...defined({ limit, cursor: next ?? undefined }) }, options),
        );
        differing.push(...page.sites.filter(differs));
        read += page.sites.length;
        ({ next } = page);
        if (next === null || differing.length * 2 >= limit || read >= SITES_READ)
          return { at: page.at, read, sites: differing, next };
      }
    },
  ),
  question(
    [
      'what_changed',
      'What changed',
      'Changes of what runs, of health and of drift at sites, newest first, with the promotion behind each.',
    ],
    {
      since: when.describe(`From ${TIME}`),
      until: when.describe(`Up to ${TIME}`),
      name: z
        .string()
        .min(1)
        .max(130)
        .optional()
        .describe('An environment, a site, `site/agent`, a workload or an assignment'),
      environment,
      site,
    },
    (ask, input, page) => ask((options) => history({ since: '1d', ...input, ...page }, options)),
  ),
  question(
    [
      'what_differs_between_environments',
      'What differs between environments',
      'Assignments that differ between two environments, such as qa and prod: versions, values and changed objects.',
    ],
    { left: NAME.describe('Such as qa'), right: NAME.describe('Such as prod') },
    (ask, input, page) => ask((options) => compare({ ...input, show: 'differing', ...page }, options)),
  ),
  question(
    [
      'why_does_the_gate_wait',
      'Why does the gate wait',
      'The conditions of the promotion to an environment: what is wanted and found, which agents hold it back, what can change it, and when it can open.',
    ],
    { environment: NAME.describe('The environment that is promoted to') },
    (ask, input) => ask((options) => gate(input, options)),
  ),
  question(
    [
      'who_approved',
      'Who approved',
      'Promotions, approvals, decisions and changes with person, reason and time, newest first, from the signed audit log.',
    ],
    { environment },
    (ask, input, page) => ask((options) => audit({ ...input, ...page }, options)),
  ),
  question(
    [
      'find',
      'Find',
      'Environments, sites, agents, workloads, assignments and releases by a part of their name, or candidates, bundles and packages by the first digits of their digest.',
    ],
    { q: z.string().min(1).max(100) },
    (ask, input, page) => ask((options) => search({ ...input, ...page }, options)),
  ),
];
