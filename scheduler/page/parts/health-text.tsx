import { Code, Text } from '@mantine/core';
import type { StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { SourceOf } from './age.tsx';

/** The health of a package as its agent reported it, with failed checks and what they printed. */
export const HealthText = ({ health, now }: { readonly health: Row['health']; readonly now: string }) => {
  if (!health) return 'never reported';
  return (
    <>
      {[health.outcome ?? health.type, health.code].filter(Boolean).join(' ')}
      {health.message && <Text size="sm">{health.message}</Text>}
      {health.checks?.map((check) => (
        <div key={check.name}>
          <Text size="sm">
            {check.name}: {check.message}
          </Text>
          {check.output !== undefined && (
            <Code block tabIndex={0}>
              {check.output}
            </Code>
          )}
        </div>
      ))}
      <SourceOf cell={health} now={now} />
    </>
  );
};
