import { Group, Text } from '@mantine/core';
import type { FieldTemplateProps } from '@rjsf/utils';
import type { ValuesSelection } from '#bundles/schemas/types/hub-decisions';
import type { Edit } from '../../api/drafts.ts';
import { JsonText } from '../json-text.tsx';
import { FieldAction, FieldHead, InnerField, NotEditable } from './field-head.tsx';

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

/** One value of the form: which values the places have and how many places have each, and its field once it is set at all of them. */
export const ManyField = (props: FieldTemplateProps) => {
  const { fieldPathId, registry, children, label, schema, rawErrors } = props;
  const { path } = fieldPathId;
  const state = registry.formContext as ManyState;
  const value = path.length === 1 ? state.values.get(String(path[0])) : undefined;
  if (value === undefined) return <InnerField {...props} />;
  const { name, editable, editableBy } = value;
  const edit = state.edits[name];
  const isSet = edit !== undefined && edit.removed !== true;
  return (
    <section className="value" aria-label={`${label} of many`}>
      {isSet ? children : <FieldHead label={label} schema={schema} rawErrors={rawErrors} />}
      {edit?.removed === true && <Text>All of them will have the value that they inherit.</Text>}
      <Given value={value} what={state.what} />
      {!editable && <NotEditable what="You may change it at none of them" editableBy={editableBy} />}
      {editable && (
        <Group gap="xs" mt="xs">
          {!isSet && <FieldAction title="Set at all" what={label} act={() => state.set(name)} />}
          {edit?.removed !== true && value.given.length > 0 && (
            <FieldAction title="Remove at all" what={label} act={() => state.remove(name)} />
          )}
          {edit !== undefined && (
            <FieldAction title="Leave it as it is" what={label} act={() => state.drop(name)} />
          )}
        </Group>
      )}
    </section>
  );
};

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
