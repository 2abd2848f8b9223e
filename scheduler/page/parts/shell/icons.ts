/** Lines of each icon on a square of 16, without an area. */
export const ICONS = {
  overview: 'M2 2h5v5h-5zM9 2h5v5h-5zM2 9h5v5h-5zM9 9h5v5h-5z',
  sites: 'M2 14v-6l4 2.5v-2.5l4 2.5v-7h4v10.5z',
  alarms: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.2',
  workloads: 'M8 1.5l6 3v7l-6 3l-6-3v-7zM2 4.5l6 3l6-3M8 7.5v7',
  where: 'M8 14.5c-3-4-4.5-6-4.5-8.5a4.5 4.5 0 0 1 9 0c0 2.5-1.5 4.5-4.5 8.5zM8 4.5v3',
  compare: 'M5 2v12M2 5l3-3l3 3M11 14v-12M8 11l3 3l3-3',
  pipeline: 'M1.5 8h2.5M7 8h2.5M12.5 8h2M4 6h3v4h-3zM9.5 6h3v4h-3z',
  rollouts: 'M2 14v-3h4v-3h4v-3h4v9z',
  media: 'M5 6v-4h6v4M3 6h10v8.5h-10zM7 4h.2M9 4h.2',
  values: 'M2 4h7M12 4h2M10 2.5v3M2 8h2M7 8h7M5.5 6.5v3M2 12h6M11 12h3M9.5 10.5v3',
  platform: 'M2 13v-10h5l1.5 2h5.5v8zM5 9h6',
  audit: 'M3 1.5h8l2 2v11h-10zM5.5 6h5M5.5 9h5M5.5 12h3',
  sessions: 'M8 8a3 3 0 1 0 0-6a3 3 0 0 0 0 6zM2.5 14.5c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
  search: 'M7 12a5 5 0 1 0 0-10a5 5 0 0 0 0 10zM10.5 10.5l4 4',
  settings: 'M2 4h12M2 8h12M2 12h12M5 2.5v3M11 6.5v3M7 10.5v3',
} as const;

export type IconName = keyof typeof ICONS;
