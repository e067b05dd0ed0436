"""What an author declares, turned into values when a class is defined: specs, tools, hooks, teammates."""
