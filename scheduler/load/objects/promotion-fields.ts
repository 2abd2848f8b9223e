import { isSeq } from 'yaml';
import { DURATION, durationSeconds } from '../../model/duration.ts';
import type { AgentSelector, Share } from '../../model/promotion.ts';
import { has, keeping, someRule } from '../../model/yaml/field-rules.ts';
import { attestationFields } from './image-policy-fields.ts';
import {
  BAD,
  between,
  count,
  fields,
  flag,
  mapped,
  name,
  narrowed,
  objectName,
  oneOf,
  optional,
  record,
  refuse,
  required,
  type Shape,
  shape,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { window } from './window-shape.ts';

const durationText = textLike(DURATION, 'is not a duration', 'Write it like 30m, 12h, 14d or 2w');

/** A duration as text, read as seconds. */
const seconds: Shape<number> = mapped(durationText, (value) => durationSeconds(value) ?? BAD);

const percent = between(1, 100);
const number = between(1, 1_000_000);

const labels = narrowed(record(text), { minProperties: 1 }, (value, node, path, reading) =>
  Object.keys(value).length > 0
    ? value
    : refuse(reading, node, `${path} is empty`, 'Name at least one label'),
);

const selector: Shape<AgentSelector> = fields({
  matchLabels: required(labels, 'Labels that an agent must have, all of them.'),
});

const SHARE = /^(?:[1-9][0-9]?|100)%$/;
const shareText = textLike(SHARE, 'is not a percentage', 'Write a number of agents, or a percentage like 5%');

/** A number of agents, or a percentage. */
const share: Shape<Share> = shape(
  { type: ['integer', 'string'], minimum: 0, maximum: Number.MAX_SAFE_INTEGER, pattern: SHARE.source },
  (node, path, reading) => {
    const isText = text(node, path, { ...reading, problems: [] }) !== BAD;
    if (!isText) {
      const read = count(node, path, reading);
      return read === BAD ? BAD : { count: read };
    }
    const read = shareText(node, path, reading);
    return read === BAD ? BAD : { percent: Number.parseInt(read, 10) };
  },
);

const key = textLike(
  /^[0-9a-f]{64}$/,
  'is not the fingerprint of a key',
  'Write the 64 digits that fleet-scheduler root inspect shows under bundle',
);
const keyList = shortList(key, 64);

/** One fingerprint, or a list of them. */
const keys: Shape<readonly string[]> = shape(
  { ...key.schema, type: ['string', 'array'], items: key.schema, maxItems: 64 },
  (node, path, reading) => {
    if (isSeq(node)) return keyList(node, path, reading);
    const one = key(node, path, reading);
    return one === BAD ? BAD : [one];
  },
);

const date = textLike(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, 'is not a date', 'Write it like 2026-12-20');

const webAddress = textLike(/^https?:\/\/[^\s/@]+(?:\/\S*)?$/, 'is not a web address', undefined, {
  maxLength: 2048,
});

const freshness = optional(
  seconds,
  undefined,
  'An agent whose last report is older does not count as complying.',
);

const absent = optional(
  fields({
    after: required(seconds, 'An agent that was not heard for this long is absent.'),
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
    then: required(oneOf('exclude', 'block'), 'Whether absent agents no longer count, or block.'),
  }),
  undefined,
  'Evidence that counts for agents without a network. Without it they block.',
);

/** The spec of a PromotionPolicy. */
export const promotionFields = fields({
  from: required(name, 'Environment that a candidate is promoted from.'),
  to: required(name, 'Environment that it is promoted to. Its `promotedFrom` in fleet.yaml is `from`.'),
  mode: optional(
    oneOf('manual', 'automatic'),
    'manual',
    'Actor that promotes once all conditions are met: a person, or `serve` in the name of the policy.',
  ),
  compliance: optional(
    fields({
      percent: optional(percent, undefined, 'Share of the agents that must comply.'),
      atLeast: optional(number, undefined, 'Number of agents that must comply.'),
      of: optional(
        oneOf('reported', 'enrolled'),
        'reported',
        'Agents that the percentage is of: those that ever reported, or all that are enrolled.',
      ),
      require: optional(
        shortList(selector, 64),
        [],
        'Agents that must all comply. For each entry there must be at least one.',
      ),
    }),
    undefined,
    'How many agents of `from` must run the candidate without a failure.',
  ),
  soak: optional(seconds, 0, 'How long compliance must have held.'),
  freshness,
  absent,
  approvals: optional(
    fields({
      required: required(number, 'Number of approvals by different keys; give each person one key.'),
      from: optional(
        keys,
        [],
        "Fingerprints of the keys that count, of the root's bundle role. Without it all of that role.",
      ),
      notAuthor: optional(
        flag,
        true,
        'The key that built the candidate, and the person who promotes, do not count as approvers.',
      ),
      eachWorkspace: optional(
        flag,
        false,
        'So many approvals for each workspace whose assignments the candidate changes in `to`. An approval that is limited to workspaces counts for these.',
      ),
    }),
    undefined,
    'Signed approvals that the candidate needs.',
  ),
  windows: optional(
    shortList(window, 64),
    [],
    'Times in which a promotion may happen, each `<cron> for <duration>`. Without any, always.',
  ),
  freeze: optional(
    shortList(
      fields({
        from: required(date, 'First day, UTC.'),
        to: required(date, 'Last day, UTC.'),
        reason: optional(text, undefined, 'Shown to those who wait.'),
      }),
      64,
    ),
    [],
    'Days on which nothing is promoted.',
  ),
  checks: optional(
    shortList(
      fields({
        name: required(objectName, 'Name of the check.'),
        url: required(
          webAddress,
          'Address that is asked, by POST. Without TLS only where `plainHttp` allows it.',
        ),
        timeout: optional(seconds, 3600, 'How long an answer is waited for.'),
      }),
      16,
    ),
    [],
    'Webhooks that `serve` asks about each candidate. All must answer that it passed.',
  ),
  evidence: optional(
    oneOf('hub', 'signed'),
    'hub',
    'Judge of the reports: the hub, or with `signed` also the signer, by the signatures of the agents. The signer is started with `--evidence` then, and `compliance` counts all enrolled agents, as it does.',
  ),
  attestations: optional(
    shortList(attestationFields, 16),
    [],
    'Attestations, such as an SBOM, that the images of the candidate must carry. `images lock` brings them into the bundles.',
  ),
  direct: optional(
    oneOf('allow', 'forbid'),
    'allow',
    'Whether a change of the own layer of `to` is released without a promotion.',
  ),
});

const stage = keeping(
  fields({
    name: required(name, 'Name of the stage.'),
    selector: optional(selector, undefined, 'Agents with these labels. Without it all.'),
    percent: optional(percent, undefined, 'Share of the selected agents. Without it all of them.'),
    soak: optional(seconds, 0, 'How long the stage must have complied before the next begins.'),
    maxFailures: optional(share, { count: 0 }, 'More failed agents than this stop the rollout.'),
    approvals: optional(
      count,
      0,
      'Number of approvals that the stage needs before it begins. The first stage begins with the release and takes none.',
    ),
  }),
  [
    someRule(has('selector'), has('percent')),
    (_stage, path) => [`${path} selects no agents`, 'Give it a selector, a percent or both'],
  ],
);

/** The spec of a RolloutPolicy. */
export const rolloutFields = fields({
  environment: required(name, 'Environment whose releases reach agents in these stages.'),
  stages: required(
    shortList(stage, 32, 1),
    'Stages in their order. Each one adds its agents to those of the stages before.',
  ),
  deadline: optional(seconds, undefined, 'A rollout that is not complete by then has failed.'),
  onFailure: optional(
    oneOf('stop', 'takeBack'),
    'stop',
    'Action when a stage fails: the rollout stops, or the stages that it reached get the release before.',
  ),
  freshness,
  absent,
  siteValues: optional(
    oneOf('stages', 'atOnce'),
    'stages',
    'Whether changes of the values of sites reach the agents in these stages, too, or all at once.',
  ),
});

/** The spec of a FreshnessPolicy. */
export const freshnessFields = fields({
  environment: required(name, 'Environment that it is about.'),
  clusterTypes: optional(shortList(name), [], 'Cluster types that it is limited to. Without any, all.'),
  late: required(seconds, 'After this an agent that was not heard is late.'),
  stale: required(seconds, 'After this what the agent said last no longer counts.'),
  visits: optional(
    seconds,
    undefined,
    'How often a medium is expected at an agent that is not on the network. `status` and gates name the expected day and the agents whose visit is overdue.',
  ),
  reboot: optional(
    seconds,
    undefined,
    'How long a host may need a reboot before the alarm REBOOT_OVERDUE. Without it there is no such alarm.',
  ),
});
