import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Shape } from './state.tsx';
import type { Tone } from './tone.ts';

export type Step = {
  readonly name: string;
  /** 'good': done; 'late': done in part, or overdue; 'quiet': not yet. */
  readonly tone: Tone;
  readonly detail: ReactNode;
};

/** The steps of a medium, from the office to the sites and back. */
export const Journey = ({ label, steps }: { readonly label: string; readonly steps: readonly Step[] }) => (
  <ol className="journey" aria-label={label}>
    {steps.map(({ name, tone, detail }) => (
      <li key={name} className={tone}>
        <Shape tone={tone} />
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="sm" c="dimmed" component="div">
          {detail}
        </Text>
      </li>
    ))}
  </ol>
);
