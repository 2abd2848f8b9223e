import { Alert, Anchor, Code, List, Table, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { PlatformPreview } from '#bundles/schemas/types/hub-decisions';
import { BAD } from '../bad.ts';
import { Wide } from '../wide.tsx';

const WORDS = {
  created: 'added',
  configured: 'changed',
  deleted: 'removed',
  held: 'held',
  healed: 'no longer held',
} as const;

type Problem = PlatformPreview['problems'][number];

/** What an edit would do: its mistakes at their lines, the assignments that it adds and removes, and the difference of each file. */
export const EditPreview = ({ preview }: { readonly preview: PlatformPreview }) => {
  const { subject, outcome, problems, known, advice, assignments, files } = preview;
  return (
    <section aria-label="Preview">
      <Title order={2}>Preview</Title>
      <Text>
        {subject}: {outcome}
      </Text>
      {problems.length > 0 && (
        <Alert role="alert" variant="default" classNames={BAD} title="It cannot be saved like this">
          <Problems of={problems} />
        </Alert>
      )}
      {problems.length === 0 && assignments.length === 0 && <Text>No assignment changes.</Text>}
      {assignments.length > 0 && (
        <Wide
          label="Assignments that change"
          headings={['Environment', 'Cluster type', 'Assignment', 'What']}
        >
          {assignments.map(({ environment, clusterType, assignment, outcome: what, why }) => (
            <Table.Tr key={`${environment} ${clusterType} ${assignment}`}>
              <Table.Td>
                <Anchor component={Link} to={`/workloads?environment=${encodeURIComponent(environment)}`}>
                  {environment}
                </Anchor>
              </Table.Td>
              <Table.Td>{clusterType}</Table.Td>
              <Table.Td>{assignment}</Table.Td>
              <Table.Td>
                {WORDS[what]}
                {why === null ? '' : `: ${why}`}
              </Table.Td>
            </Table.Tr>
          ))}
        </Wide>
      )}
      {advice.length > 0 && (
        <Alert role="status" variant="default" title="Advice">
          <Problems of={advice} />
        </Alert>
      )}
      {known.length > 0 && (
        <Alert role="status" variant="default" title="Invalid before this edit">
          <Problems of={known} />
        </Alert>
      )}
      {files.map(({ file, diff }) => (
        <section key={file} aria-label={`Difference of ${file}`}>
          <Code block tabIndex={0}>
            {diff}
          </Code>
        </section>
      ))}
    </section>
  );
};

const Problems = ({ of }: { readonly of: readonly Problem[] }) => (
  <List>
    {of.map(({ code, message, file, line, column, hint }) => (
      <List.Item key={`${file} ${line} ${column} ${message}`}>
        {file !== null && <code>{[file, line, column].filter((part) => part !== null).join(':')}</code>}{' '}
        {code}: {message}.{hint === null ? '' : ` ${hint}.`}
      </List.Item>
    ))}
  </List>
);
