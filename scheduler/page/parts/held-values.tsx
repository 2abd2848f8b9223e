import { Text, Title } from '@mantine/core';
import type { Status } from '#bundles/schemas/types/hub-decisions';
import { Age } from './age.tsx';

type Held = Status['heldSites'][number];

/** Reasons that hold the values of a site, since when, and the remedies. */
export const HeldValues = ({ held, now }: { readonly held: Held; readonly now: string }) => (
  <section aria-labelledby="held-values">
    <Title order={2} id="held-values">
      Values of the site
    </Title>
    <Text>
      Since <Age at={held.since} now={now} />:
    </Text>
    <ul>
      <Reasons what="It keeps the values that it has" reasons={held.reasons} />
      <Reasons what="It lacks a value" reasons={held.lacking} />
      <Reasons what="It differs from the repository" reasons={held.differs} />
    </ul>
  </section>
);

const Reasons = ({ what, reasons }: { readonly what: string; readonly reasons: Held['reasons'] }) =>
  reasons.map(({ message, at, hint }) => (
    <li key={`${message} ${at}`}>
      {what}: {message}
      {at !== undefined && ` (${at})`}.{hint !== undefined && ` ${hint}.`}
    </li>
  ));

/** The same in a few words, for a list of sites. */
export const describeHeld = (held: Omit<Held, 'site'>): string => {
  if (held.reasons.length > 0) return 'keeps its values';
  if (held.lacking.length > 0) return 'lacks values';
  return 'differs from the repository';
};
