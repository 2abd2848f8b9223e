import { Button, Group, Text } from '@mantine/core';
import FieldTemplate from '@rjsf/mantine/lib/templates/FieldTemplate.js';
import type { FieldTemplateProps } from '@rjsf/utils';
import type { ComponentType } from 'react';
import type { ValuesSelection } from '#bundles/transport/hub/client';
import type { Edit } from '../../api/drafts.ts';
import { JsonText } from '../json-text.tsx';

type ManyValue = ValuesSelection['values'][number];

/** State and actions of the form of many sites, for the fields of values. */
export type ManyState = {
  readonly values: ReadonlyMap<string, ManyValue>;
  readonly edits: Readonly<Record<string, Edit>>;
  /** Where values are given. */
  readonly what: 'sites' | 'agents';
  readonly set: (name: string) => void;
  readonly remove: (name: string) => void;
  readonly drop: (name: string) => void;
};

/** The field template of the theme, for the fields inside of a value. */
const Plain = FieldTemplate as ComponentType<FieldTemplateProps>;

/** A value at the top of the form: what is given at how many places, and its field when it is to be set at all of them. */
export const ManyField = (props: FieldTemplateProps) => {
  const { fieldPathId, registry, children, label, schema, rawErrors = [] } = props;
  const { path } = fieldPathId;
  const state = registry.formContext as ManyState;
  const value = path.length === 1 ? state.values.get(String(path[0])) : undefined;
  if (value === undefined) return <Plain {...props} />;
  const { name, editable, editableBy } = value;
  const edit = state.edits[name];
  const isSet = edit !== undefined && edit.removed !== true;
  return (
    <section className="value" aria-label={`${label} of many`}>
      {isSet ? (
        children
      ) : (
        <>
          <Text fw={700}>{label}</Text>
          {schema.description !== undefined && <Text size="sm">{schema.description}</Text>}
          {rawErrors.map((one) => (
            <Text key={one} role="alert" className="bad-text">
              {one}
            </Text>
          ))}
        </>
      )}
      {edit?.removed === true && <Text>All of them will have the value that they inherit.</Text>}
      <Given value={value} what={state.what} />
      {!editable && (
        <Text size="sm">
          You may change it at none of them:{' '}
          {editableBy === null ? 'only the platform team does' : `it is for ${editableBy}`}.
        </Text>
      )}
      {editable && (
        <Group gap="xs" mt="xs">
          {!isSet && <Act title="Set at all" what={label} act={() => state.set(name)} />}
          {edit?.removed !== true && value.given.length > 0 && (
            <Act title="Remove at all" what={label} act={() => state.remove(name)} />
          )}
          {edit !== undefined && <Act title="Leave it as it is" what={label} act={() => state.drop(name)} />}
        </Group>
      )}
    </section>
  );
};

type ActProps = { readonly title: string; readonly what: string; readonly act: () => void };

const Act = ({ title, what, act }: ActProps) => (
  <Button size="xs" variant="default" onClick={act} aria-label={`${title}: ${what}`}>
    {title}
  </Button>
);

const Given = ({ value, what }: { readonly value: ManyValue; readonly what: ManyState['what'] }) => {
  const { name, places, given, others } = value;
  const shown = given.reduce((sum, one) => sum + one.places, 0);
  return (
    <>
      <Text size="sm" className="source">
        <code>{name}</code> is taken at {places} of them.{' '}
        {given.length === 0 ? `None of these ${what} has a value of its own.` : 'Given there: '}
        {given.map((one, index) => (
          <span key={JSON.stringify(one.value)}>
            {index === 0 ? '' : ', '}
            <JsonText value={one.value} /> at {one.places}
          </span>
        ))}
        {given.length > 0 && shown < places && `; others or none at ${places - shown}`}
      </Text>
      {others.length > 0 && (
        <Text size="sm">
          Other rules for this value at {others.join(', ')}: the preview names what does not fit.
        </Text>
      )}
    </>
  );
};
