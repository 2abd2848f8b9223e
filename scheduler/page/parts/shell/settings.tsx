import { ActionIcon, NativeSelect, Popover, Stack, useMantineColorScheme } from '@mantine/core';
import { keepPreferences, usePreferences } from '../../api/preferences.ts';
import { Icon } from './icon.tsx';

const SCHEMES = [
  { value: 'auto', label: 'as the browser' },
  { value: 'light', label: 'light' },
  { value: 'dark', label: 'dark' },
] as const;

/** How this browser shows times, tables and colours. */
export const Settings = () => {
  const { times, rows } = usePreferences();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Popover position="bottom-end" trapFocus withinPortal={false}>
      <Popover.Target>
        <ActionIcon variant="default" size="lg" aria-label="Appearance">
          <Icon name="settings" />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm">
          <NativeSelect
            label="Times"
            value={times}
            onChange={({ currentTarget }) =>
              keepPreferences({ times: currentTarget.value === 'local' ? 'local' : 'utc' })
            }
            data={[
              { value: 'utc', label: 'UTC' },
              { value: 'local', label: Intl.DateTimeFormat().resolvedOptions().timeZone },
            ]}
          />
          <NativeSelect
            label="Rows of tables"
            value={rows}
            onChange={({ currentTarget }) =>
              keepPreferences({ rows: currentTarget.value === 'compact' ? 'compact' : 'normal' })
            }
            data={['normal', 'compact']}
          />
          <NativeSelect
            label="Colours"
            value={colorScheme}
            onChange={({ currentTarget }) => {
              const scheme = SCHEMES.find(({ value }) => value === currentTarget.value);
              if (scheme) setColorScheme(scheme.value);
            }}
            data={[...SCHEMES]}
          />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
};
