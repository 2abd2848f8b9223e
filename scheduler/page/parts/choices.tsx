import { Button, Checkbox, NativeSelect, Popover, Stack } from '@mantine/core';
import type { Choice } from './facet.ts';
import { withChoice } from './narrow-query.ts';

/** Sets a parameter of the address; an empty value removes it. */
export type Choose = (key: string, value: string) => void;

/** The address with a parameter set or removed, from the newest one: what is drawn may be a choice behind. */
export const chosenIn = (key: string, value: string): URLSearchParams =>
  withChoice(new URLSearchParams(location.search), key, value);

type FieldProps = {
  readonly facet: { readonly key: string; readonly label: string };
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly choose: Choose;
};

/** The values of a property with their counts. */
export const FacetField = ({ facet, choices, chosen, choose }: FieldProps) => {
  if (choices.length === 0) return null;
  return (
    <NativeSelect
      label={facet.label}
      size="xs"
      className="facet"
      value={chosen}
      onChange={({ currentTarget }) => choose(facet.key, currentTarget.value)}
      data={[
        { value: '', label: 'any' },
        ...choices.map(({ value, label, count }) => ({ value, label: `${label} (${count})` })),
      ]}
    />
  );
};

type ColumnsProps = {
  readonly all: readonly string[];
  readonly shown: readonly string[];
  readonly choose: Choose;
};

/** No column has this name: an empty parameter would be removed, and the usual columns shown. */
const NO_COLUMNS = '-';

/** The columns of a table, kept in `?columns=`. */
export const Columns = ({ all, shown, choose }: ColumnsProps) => {
  const toggle = (name: string): void => {
    const next = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
    choose('columns', next.length === 0 ? NO_COLUMNS : next.join(','));
  };
  return (
    <Popover position="bottom-end" trapFocus withinPortal={false}>
      <Popover.Target>
        <Button size="xs" variant="default">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          {all.map((name) => (
            <Checkbox key={name} label={name} checked={shown.includes(name)} onChange={() => toggle(name)} />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
};
