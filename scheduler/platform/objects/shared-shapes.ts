import type { LabelSelector } from '../model.ts';
import { isCommit } from '../sources/location.ts';
import {
  BAD,
  fields,
  list,
  oneOf,
  optional,
  record,
  refuse,
  required,
  type Shape,
  text,
} from '../yaml/shape.ts';

/** Kubernetes' label selector, with all four operators. */
const expressionFields = fields({
  key: required(text),
  operator: required(oneOf('In', 'NotIn', 'Exists', 'DoesNotExist')),
  values: optional(list(text), []),
});

const expression: Shape<LabelSelector['matchExpressions'][number]> = (node, path, reading) => {
  const read = expressionFields(node, path, reading);
  if (read === BAD) return BAD;
  const wantsValues = read.operator === 'In' || read.operator === 'NotIn';
  if (wantsValues === read.values.length > 0) return read;
  const rule = wantsValues ? 'needs at least one of values' : 'has no values';
  return refuse(reading, node, `${path}: the operator ${read.operator} ${rule}`);
};

export const labelSelector: Shape<LabelSelector> = fields({
  matchLabels: optional(record(text), {}),
  matchExpressions: optional(list(expression), []),
});

/** A selector that selects everything, which is also what an absent one means. */
const EVERYTHING: LabelSelector = { matchLabels: {}, matchExpressions: [] };

export const policySpec = fields({
  deploymentTargetSelector: required(
    fields({ workspace: optional(text, ''), labelSelector: optional(labelSelector, EVERYTHING) }),
  ),
  clusterTypeSelector: required(fields({ labelSelector: optional(labelSelector, EVERYTHING) })),
});

/** A full commit id; "" is how a template that was given none leaves it. */
export const commit: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || value === '' || isCommit(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no commit`,
    'Write all 40 hex digits: a short one can mean another commit tomorrow',
  );
};
