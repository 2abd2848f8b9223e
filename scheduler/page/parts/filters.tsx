import { Button, Checkbox, Group, NativeSelect, Popover, Stack, Text } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import type { Choice, Facet, Filtered } from './facet.ts';
import { withChoice, withoutChoices } from './narrow-query.ts';
import { SavedViews } from './saved-views.tsx';

/** Sets a parameter of the address; an empty value removes it. */
type Choose = (key: string, value: string) => void;

type Props<T> = {
  /** Name of the filters, for screen readers. */
  readonly label?: string;
  /** What a row is, in the plural. */
  readonly noun: string;
  /** Rows before they are filtered. */
  readonly total: number;
  /** Whether there are rows beyond those that were read, which the counts leave out. */
  readonly hasMore?: boolean;
  readonly facets: readonly Facet<T>[];
  readonly filtered: Filtered<T>;
  readonly orders: readonly { readonly value: string; readonly label: string }[];
  /** The value of the order in force. */
  readonly order: string;
  /** Columns that can be hidden. Absent: the rows are not in a table. */
  readonly columns?: readonly string[];
  readonly shown?: readonly string[];
};

/** Above a table: the count of its rows, choices with counts, order, columns and saved views. All choices are in the address. */
export const Filters = <T,>({
  label,
  noun,
  total,
  hasMore = false,
  facets,
  filtered,
  orders,
  order,
  columns = [],
  shown = [],
}: Props<T>) => {
  const [query, setQuery] = useSearchParams();
  // From the address in force: `query` is of the last rendering, and may lack a choice made since.
  const choose: Choose = (key, value) =>
    setQuery(withChoice(new URLSearchParams(location.search), key, value));
  const keys = facets.map(({ key }) => key);
  const count = filtered.found.length;
  return (
    <>
      <Text role="status">
        {count === total ? counted(total, noun) : `${count} of ${counted(total, noun)}`}
        {hasMore && '; there are more, on the next page'}
      </Text>
      <Group align="end" gap="sm" my="sm" component="search" className="filters" aria-label={label}>
        {facets.map((facet) => (
          <FacetField
            key={facet.key}
            facet={facet}
            choices={filtered.choices.get(facet.key) ?? []}
            chosen={query.get(facet.key) ?? ''}
            choose={choose}
          />
        ))}
        {orders.length > 1 && (
          <NativeSelect
            label="Sort by"
            size="xs"
            className="order"
            value={order}
            onChange={({ currentTarget }) => choose('sort', currentTarget.value)}
            data={orders.map(({ value, label: text }) => ({ value, label: text }))}
          />
        )}
        {columns.length > 0 && <Columns all={columns} shown={shown} choose={choose} />}
        {keys.some((key) => query.has(key)) && (
          <Button component={Link} to={`?${withoutChoices(query, keys)}`} size="xs" variant="default">
            Show all
          </Button>
        )}
      </Group>
      <SavedViews />
    </>
  );
};

/** '1 site', '2 sites'. */
const counted = (count: number, noun: string): string =>
  `${count} ${count === 1 ? noun.replace(/ies$/, 'y').replace(/s$/, '') : noun}`;

type FieldProps = {
  readonly facet: { readonly key: string; readonly label: string };
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly choose: Choose;
};

/** The values of a property with their counts. */
const FacetField = ({ facet, choices, chosen, choose }: FieldProps) => {
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
const Columns = ({ all, shown, choose }: ColumnsProps) => {
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
