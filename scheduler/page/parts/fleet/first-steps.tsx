import { Anchor, Button, Code, CopyButton, Group, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import { State } from '../state.tsx';
import type { FirstStep } from './steps-of.ts';

/** The first steps with a new hub. Each is ticked by what the hub knows, not by a click. */
export const FirstSteps = ({ steps }: { readonly steps: readonly FirstStep[] }) => {
  if (steps.length === 0) return null;
  const next = steps.findIndex(({ done }) => !done);
  return (
    <section aria-labelledby="first-steps" className="first-steps">
      <Title order={2} id="first-steps">
        First steps
      </Title>
      <Text size="sm" c="dimmed">
        {steps.filter(({ done }) => done).length} of {steps.length} done. A step is ticked when the hub sees
        its result.
      </Text>
      <ol>
        {steps.map((step, at) => (
          <li key={step.title}>
            <details open={at === next}>
              <summary>
                {step.title} <State mood={step.done ? 'good' : 'quiet'}>{step.done ? 'done' : 'to do'}</State>
              </summary>
              {step.done ? (
                <Text>
                  Done: {step.proof}.{' '}
                  <Anchor component={Link} to={step.to}>
                    Show it
                  </Anchor>
                </Text>
              ) : (
                <Commands lines={step.commands} />
              )}
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
};

const Commands = ({ lines }: { readonly lines: readonly string[] }) => (
  <>
    <Code block tabIndex={0}>
      {lines.join('\n')}
    </Code>
    <Group mt="xs">
      <CopyButton value={lines.join('\n')}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
  </>
);
