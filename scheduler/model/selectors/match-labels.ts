import type { LabelSelector, Labels } from '../model.ts';

/**
 * Kubernetes' label selector: all parts must match, an empty selector matches everything, and NotIn also matches when the
 * label is absent.
 */
export const matchLabels = (selector: LabelSelector, labels: Labels): boolean =>
  Object.entries(selector.matchLabels).every(([key, value]) => has(labels, key) && labels[key] === value) &&
  selector.matchExpressions.every((expression) => matchExpression(expression, labels));

const matchExpression = (expression: LabelSelector['matchExpressions'][number], labels: Labels): boolean => {
  const { key, operator, values } = expression;
  const there = has(labels, key);
  switch (operator) {
    case 'In':
      return there && values.includes(labels[key] as string);
    case 'NotIn':
      return !there || !values.includes(labels[key] as string);
    case 'Exists':
      return there;
    case 'DoesNotExist':
      return !there;
  }
};

const has = (labels: Labels, key: string): boolean => Object.hasOwn(labels, key);
