import type { Mistake, PublishedDocument } from './published-document.ts';

export type { Mistake };

/** Returns the first mistake of a value, undefined where the value fits. */
export type Check = (value: unknown) => Mistake | undefined;

export const checkFor =
  ({ validate }: PublishedDocument): Check =>
  (value) =>
    validate(value) ? undefined : validate.errors?.[0];
